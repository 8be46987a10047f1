import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { findEnter } from '../../src/addon.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { Program } from './command.ts'

describe.skipIf(!mayUnshare)('what is covered, where others may write beside it (needs unshare -rm)', () => {
  test('a symlink put in the place of the directory is not followed: 200 tries', async () => {
    const argv = [join(import.meta.dirname, 'enter_swapped.mjs'), findEnter(), compile('swapper')]
    const run = new Program('unshare', ['-rm', process.execPath, ...argv, scratch(), '200'])
    const ended = await run.ended()
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const { directory, victim, refused } = JSON.parse(ended.stdout)
    console.log(`  covered before it was swapped: ${directory}, refused: ${refused}`)
    expect({ victim, tries: directory + victim + refused }).toEqual({ victim: 0, tries: 200 })
  })

  test('nor one on the way to the working directory', async () => {
    const [base, marks] = [scratch(), scratch()]
    const [directory, aside] = [join(base, 'directory'), join(base, 'aside')]
    mkdirSync(directory)
    mkdirSync(join(base, 'victim/sub'), { recursive: true })
    writeFileSync(join(base, 'victim/sub/theirs'), '')
    const start = async () => {
      const script = 'ls >"$1/seen"; pwd -P >>"$1/seen"'
      const argv = ['-rm', findEnter(), directory, '1048576', './sub', 'sh', '-c', script, 'sh', marks]
      const child = spawn('unshare', argv, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
      const socket = child.stdio[3] as Duplex
      const [line] = await once(socket, 'data')
      return { child, socket, line: String(line) }
    }
    const { child, socket, line } = await start()
    const root = `/proc/${child.pid}/fd/${/^ready (\d+)\n$/.exec(line)?.[1]}`
    mkdirSync(join(root, 'sub'))
    writeFileSync(join(root, 'sub/ours'), '')
    renameSync(directory, aside)
    symlinkSync('victim', directory)
    socket.write('\n')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(readFileSync(join(marks, 'seen'), 'utf8')).toBe(`ours\n${aside}/sub\n`)
    // The link is there at the start now.
    const { child: second, line: refusal } = await start()
    expect(refusal).toBe(`failed open ${constants.errno.ENOTDIR}\n`)
    expect(await once(second, 'exit')).toEqual([1, null])
  })
})
