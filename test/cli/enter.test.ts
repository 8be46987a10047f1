import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
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

// On x64 and arm64 it has an execvp(3) of its own (native/libc).
describe.skipIf(!mayUnshare)('the command is found as by execvp (needs unshare -rm)', () => {
  const { EACCES, ENOENT } = constants.errno
  const script = '#!/bin/sh\necho "$0" "$@"\n'

  /** In `first` nothing may be executed. */
  function directories() {
    const [first, second] = [scratch(), scratch()]
    const put = (path: string, text: string, mode: number) => {
      writeFileSync(path, text)
      chmodSync(path, mode)
    }
    put(join(first, 'refused'), script, 0o644)
    put(join(first, 'both'), script, 0o644)
    put(join(second, 'both'), script, 0o755)
    put(join(second, 'plain'), 'echo shell "$0" "$@"\n', 0o755)
    return { first, second }
  }

  /** Runs the helper. Returns what the helper has written to its socket, or the command to stdout. */
  async function outcome(command: string[], environment: string[], cwd: string): Promise<string> {
    const argv = ['-rm', 'env', '-i', ...environment, findEnter(), scratch(), '1048576', '', ...command]
    const child = spawn('unshare', argv, { cwd, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
    const socket = child.stdio[3] as Duplex
    let said = ''
    for (const stream of [child.stdout as Readable, socket]) stream.on('data', (text) => (said += text))
    socket.once('data', () => socket.write('\n'))
    await once(child, 'close')
    return said.replace(/^ready \d+\n/, '')
  }

  test.each<[string, (at: ReturnType<typeof directories>) => [string[], string[], string]]>([
    [
      'in PATH, though it is refused before',
      ({ first, second }) => [['both', 'x y'], [`PATH=${first}:/no:${second}`], `${second}/both x y\n`],
    ],
    [
      'refused, and nowhere else',
      ({ first, second }) => [['refused'], [`PATH=${first}:${second}`], `failed execvp ${EACCES}\n`],
    ],
    ['nowhere', ({ first, second }) => [['none'], [`PATH=${first}:${second}`], `failed execvp ${ENOENT}\n`]],
    ['no name', () => [[''], ['PATH=/bin'], `failed execvp ${ENOENT}\n`]],
    ['in the working directory, for an empty part of PATH', () => [['both'], ['PATH=/no:'], 'both\n']],
    [
      'by its path, whatever PATH is',
      ({ second }) => [[`${second}/both`, 'x'], ['PATH='], `${second}/both x\n`],
    ],
    ['without a PATH', () => [['echo', 'found'], ['PATHS=/no'], 'found\n']],
    [
      'text without #! is for the shell',
      ({ second }) => [['plain', 'x', 'y'], [`PATH=${second}`], `shell ${second}/plain x y\n`],
    ],
    [
      'a part that is too long',
      ({ second }) => [['plain'], [`PATH=/${'x'.repeat(5000)}:${second}`], `shell ${second}/plain\n`],
    ],
  ])('%s', async (_what, ask) => {
    const at = directories()
    const [command, environment, expected] = ask(at)
    expect(await outcome(command, environment, at.second)).toBe(expected)
  })
})
