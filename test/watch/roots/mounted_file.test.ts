// A single file that is mounted into a watched directory: see mounted_file.mjs.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'

describe.skipIf(!mayUnshare || !isBuilt)('a single-file mount (needs unshare -rm and dist)', () => {
  test.each(['inotify', 'poll'])('is told once, with its directory: %s', async (backend) => {
    const program = [process.execPath, join(import.meta.dirname, 'mounted_file.mjs'), backend, scratch()]
    const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(code, output).toBe(0)
    expect(JSON.parse(output)).toEqual(['modify /etc/key', 'modify /etc/own'])
  })
  test('that comes and goes while its directory is watched, and it is itself', async () => {
    const base = scratch()
    const at = (name: string) => join(base, name)
    mkdirSync(at('tree'))
    for (const name of ['other', 'tree/alone', 'tree/root']) writeFileSync(at(name), name)
    const options = { recursive: true, interval: 1_000_000, under: ['unshare', '-rm'] }
    const child = await WatchingChild.start([at('tree'), at('tree/root')], options)
    const enter = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials']
    const run = (...command: string[]) => void execFileSync('nsenter', [...enter, ...command])
    // Waits for a change before it calls sync(), which looks at the roots that are files. A write and its
    // close(2) may each be told.
    const told = async (...expected: string[]) => {
      await expect.poll(() => child.changes.length).toBeGreaterThan(0)
      const early = child.changes.splice(0)
      const changes = [...early, ...(await child.told())]
      expect([...new Set(story(changes, at('tree')))].toSorted()).toEqual(expected)
    }
    for (const name of ['alone', 'root']) {
      run('mount', '--bind', at('other'), at(`tree/${name}`))
      await told(`modify file ${name}`)
    }
    // The directory has no events of the file that is mounted there. The file's own root has them, or a watch
    // of the file.
    appendFileSync(at('other'), 'more')
    await told('modify file alone', 'modify file root')
    for (const name of ['alone', 'root']) {
      run('umount', at(`tree/${name}`))
      await told(`modify file ${name}`)
    }
    for (const name of ['alone', 'root']) {
      appendFileSync(at(`tree/${name}`), 'more')
      await told(`modify file ${name}`)
    }
  })
})
