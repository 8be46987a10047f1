// Unchanged programs as consumers of a mirror: a ConfigMap is swapped behind a silent mount, and the programs
// see the swap in the target.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { isThere, mayUnshare } from '../../examples/stage.mjs'
import { MAIN, Program } from '../cli/command.ts'
import { mayServeFuse, silentMount } from '../cli/in_place.ts'
import { scratch } from '../support/scratch.ts'
import { PATIENCE, pollsForever, watchedBy } from './programs.ts'

const VERSIONS = ['two', 'three', 'four']

const mayMount = mayUnshare(['-rm']) && mayServeFuse

function plainDirectory(): ReturnType<typeof silentMount> {
  const back = scratch()
  return { back, front: back, wrap: (argv) => [...argv] }
}

/** Runs `inotify-bridge mirror` from a FUSE mount, behind which the kubelet writes, to a tmpfs. */
async function mirrored() {
  // A mirror polls any source: without a FUSE mount the source is the directory itself.
  const { back, wrap, front } = mayMount ? silentMount() : plainDirectory()
  const target = scratch('/dev/shm')
  const swap = (text: string, more: Record<string, string> = {}) =>
    atomicWrite(back, { 'app.yaml': text, ...more })
  await swap('one')
  const [program = '', ...args] = wrap([process.execPath, MAIN, 'mirror', '--interval', '20', front, target])
  const run = new Program(program, args)
  await run.until('stdout', /^mirroring/m)
  return { target, key: join(target, 'app.yaml'), swap }
}

/** Waits until a program watches the file that a path leads to. */
async function watching({ pid }: Program, path: string): Promise<void> {
  await expect.poll(() => watchedBy(pid), PATIENCE).toContain(statSync(path, { bigint: true }).ino)
}

describe.skipIf(!existsSync(MAIN))(
  `a mirror of ${mayMount ? 'a silent mount' : 'a directory'} (needs dist) is seen by`,
  () => {
    test.skipIf(!isThere('inotifywait'))('inotifywait -m (needs inotifywait)', async () => {
      const { target, key, swap } = await mirrored()
      const run = new Program('inotifywait', ['-m', '-e', 'moved_to', '--format', '%f', target])
      await run.until('stderr', /Watches established/)
      const swaps = () => run.lines.filter((name) => name === '..data').length
      for (const [n, text] of VERSIONS.entries()) {
        await swap(text)
        await expect.poll(swaps, PATIENCE).toBe(n + 1)
        expect(readFileSync(key, 'utf8')).toBe(text)
      }
    })

    test.skipIf(!isThere('entr'))('entr on the key, at every swap (needs entr)', async () => {
      const { key, swap } = await mirrored()
      const run = new Program('entr', ['-n', 'sh', '-c', 'cat "$0"; echo', key], { input: `${key}\n` })
      // entr ignores events while the command runs, and for 50 ms afterwards.
      await expect.poll(() => run.lines, PATIENCE).toEqual(['one'])
      for (const [n, text] of VERSIONS.entries()) {
        await expect.poll(() => pollsForever(run.pid), PATIENCE).toBe(true)
        await swap(text)
        await expect.poll(() => run.lines, PATIENCE).toEqual(['one', ...VERSIONS.slice(0, n + 1)])
      }
    })

    test.skipIf(!isThere('entr'))('entr -d, which ends when a key is new (needs entr)', async () => {
      const { key, swap } = await mirrored()
      const run = new Program('entr', ['-nd', 'cat', key], { input: `${key}\n` })
      await run.until('stdout', /one/)
      await expect.poll(() => pollsForever(run.pid), PATIENCE).toBe(true)
      await swap('one', { 'another.yaml': '' })
      expect(await run.ended()).toMatchObject({ code: 2 })
    })

    test.skipIf(!isThere('incrond') || !mayUnshare(['-r']))('incrond (needs incron)', async () => {
      const { target, key, swap } = await mirrored()
      const home = scratch()
      const [tables, users, copies] = ['tables', 'users', 'copies'].map((name) => join(home, name))
      for (const path of [tables, users, copies]) mkdirSync(path as string)
      const configuration = {
        system_table_dir: tables,
        user_table_dir: users,
        lockfile_dir: home,
        allowed_users: join(home, 'allow'),
        denied_users: join(home, 'deny'),
      }
      const lines = Object.entries(configuration).map(([name, value]) => `${name} = ${value}\n`)
      writeFileSync(join(home, 'incron.conf'), lines.join(''))
      // Upon an event of a directory incrond makes all its watches anew, and misses the next events: of a
      // swap's IN_MOVED_TOs, incrond misses that of ..data. The old version's IN_DELETE is the last event.
      writeFileSync(join(tables as string, 'mirror'), `${target} IN_DELETE cp ${key} ${copies}/swapped\n`)
      // incrond must be root in some namespace.
      const run = new Program('unshare', ['-r', 'incrond', '-n', '-f', join(home, 'incron.conf')])
      await watching(run, target)
      const copied = () => (existsSync(`${copies}/swapped`) ? readFileSync(`${copies}/swapped`, 'utf8') : '')
      for (const text of VERSIONS) {
        await swap(text)
        await expect.poll(copied, PATIENCE).toBe(text)
        await watching(run, target)
      }
    })
  },
)
