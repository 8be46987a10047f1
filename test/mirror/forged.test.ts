// Forged entries in a target that others may write. A mirror of root's that believed them would remove what they name.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, readdirSync, statSync, utimesSync } from 'node:fs'
import {
  chmod,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { InotifyError } from '../../src/errors.ts'
import { mirror } from '../../src/mirror/mirror.ts'
import { readStateFile, writeStateFile } from '../../src/mirror/staging/own.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { AS_NOBODY, giveAway, isRoot, NOBODY } from '../support/others.ts'
import { begin, directory, fixture, QUICK } from './fixture.ts'

/** An attack is tried so often: each is seldom in time. */
const TRIES = rounds(process.env.TRIES, { quick: 20, long: 30 })

const FORGED = '.inotify-bridge-0123456789ab'

/** A target that everybody may write, and a source with a file. */
async function openTarget(mode: number) {
  const { source } = fixture()
  await writeFile(join(source, 'key'), 'secret')
  await chmod(join(source, 'key'), 0o600)
  const target = directory('/dev/shm')
  await chmod(target, mode)
  const start = () => begin(source, target)
  return { source, target, start }
}

/** Gives all of a tree to nobody. */
async function give(path: string): Promise<void> {
  if (lstatSync(path).isDirectory()) for (const name of await readdir(path)) await give(join(path, name))
  giveAway(path)
}

async function forge(target: string, made: readonly string[], text?: string): Promise<string> {
  const staging = join(target, FORGED)
  await mkdir(staging)
  const noted = made.map((name) => {
    const { ino, birthtimeNs } = lstatSync(join(target, name), { bigint: true })
    return [name, `${ino}:${birthtimeNs}`]
  })
  const ledger = { target: String(statSync(target).ino), createdTarget: true, only: '', made: noted }
  await writeFile(join(staging, 'ledger'), text ?? JSON.stringify(ledger))
  await writeFile(join(staging, 'lock'), '')
  for (const note of ['ledger', 'lock']) await chmod(join(staging, note), 0o1600)
  return staging
}

test('a ledger of another user names files of root: they stay', async ({ skip }) => {
  if (!isRoot) skip('needs root')
  const { target, start } = await openTarget(0o1777)
  await writeFile(join(target, 'victim'), 'theirs')
  await mkdir(join(target, 'directory'))
  await writeFile(join(target, 'directory/victim'), 'theirs')
  await give(await forge(target, ['victim', 'directory']))
  // As it was written once: by name, with a process that is said to have ended.
  const old = join(target, '.inotify-bridge-ba9876543210')
  await mkdir(old)
  const text = { owner: '', createdTarget: false, only: '', made: ['victim', 'directory'] }
  await writeFile(join(old, 'ledger'), JSON.stringify(text))
  await give(old)
  const started = await start()
  await started.refresh()
  await started.close()
  expect(await readFile(join(target, 'victim'), 'utf8')).toBe('theirs')
  expect(await readFile(join(target, 'directory/victim'), 'utf8')).toBe('theirs')
  expect(await readdir(target), 'nor is it removed').toContain(FORGED)
})

test('one that others can have written into does not count either', async () => {
  for (const what of ['.', 'ledger']) {
    const { target, start } = await openTarget(0o1777)
    await writeFile(join(target, 'victim'), 'theirs')
    const staging = await forge(target, ['victim'])
    await chmod(join(staging, what), what === '.' ? 0o775 : 0o1660)
    await (await start()).close()
    expect(await readFile(join(target, 'victim'), 'utf8'), what).toBe('theirs')
  }
})

test('one that was moved here from another target, or leads elsewhere by a link, speaks of that', async () => {
  const { target, start } = await openTarget(0o1777)
  await writeFile(join(target, 'victim'), 'theirs')
  const other = directory('/dev/shm')
  await writeFile(join(other, 'victim'), '')
  await rename(await forge(other, ['victim']), join(target, FORGED))
  const third = directory('/dev/shm')
  await writeFile(join(third, 'victim'), '')
  await symlink(await forge(third, ['victim']), join(target, '.inotify-bridge-abcdefabcdef'))
  await (await start()).close()
  expect(await readFile(join(target, 'victim'), 'utf8')).toBe('theirs')
  expect(readdirSync(third)).toContain(FORGED)
})

test("a file that has taken the name of one that was noted down is somebody else's", async () => {
  const { target, start } = await openTarget(0o755)
  await writeFile(join(target, 'old'), 'mine')
  const staging = await forge(target, ['old'])
  await rename(join(target, 'old'), join(target, 'was'))
  await writeFile(join(target, 'old'), 'theirs')
  await (await start()).close()
  expect(await readFile(join(target, 'old'), 'utf8')).toBe('theirs')
  expect(existsSync(staging)).toBe(false)
})

test('a directory of this user that somebody has given such a name is none of a mirror: it stays with all in it', async () => {
  const { target, start } = await openTarget(0o777)
  const old = new Date(Date.now() - 3_600_000)
  for (const name of [FORGED, '.inotify-bridge-ab0123456789']) {
    await mkdir(join(target, name), { mode: 0o700 })
    await writeFile(join(target, name, 'private'), 'theirs')
    utimesSync(join(target, name), old, old)
  }
  await (await start()).close()
  for (const name of [FORGED, '.inotify-bridge-ab0123456789'])
    expect(await readFile(join(target, name, 'private'), 'utf8')).toBe('theirs')
})

test('one with a note of a mirror loses that alone: what else is in it stays', async () => {
  const { target, start } = await openTarget(0o777)
  const staging = await forge(target, [])
  await mkdir(join(staging, 'private'))
  await writeFile(join(staging, 'private/file'), 'theirs')
  await (await start()).close()
  expect(await readdir(staging)).toEqual(['private'])
  expect(await readFile(join(staging, 'private/file'), 'utf8')).toBe('theirs')
})

test('mirrored content does not become a note by being moved to its place', async () => {
  const { source, target, start } = await openTarget(0o777)
  await writeFile(join(target, 'victim'), 'theirs')
  const staging = await forge(target, ['victim'])
  await mkdir(join(source, 'd'))
  for (const name of ['ledger', 'lock']) {
    await writeFile(join(source, 'd', name), await readFile(join(staging, name)))
    await chmod(join(source, 'd', name), 0o7600)
  }
  await rm(staging, { recursive: true })
  await (await start()).close({ keep: true })
  await rename(join(target, 'd'), join(target, FORGED))
  const started = await start()
  await started.refresh()
  expect(await readFile(join(target, 'victim'), 'utf8')).toBe('theirs')
})

test('nobody can claim that a mirror is running: not by a text, and not by a lock', async ({ skip }) => {
  if (!isRoot) skip('needs root')
  const { target, start } = await openTarget(0o1777)
  const staging = await forge(target, [])
  await writeFile(join(staging, 'ledger'), JSON.stringify({ owner: `pid:[1] ${process.pid} 1`, made: [] }))
  await give(staging)
  const holder = spawn(
    'setpriv',
    [...AS_NOBODY, 'flock', join(staging, 'lock'), 'sh', '-c', 'echo held; cat'],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void holder.kill())
  await once(holder.stdout, 'data')
  const first = await start()
  // Others cannot take the lock of a running mirror either.
  const [own = ''] = readdirSync(target).filter(
    (name) => name.startsWith('.inotify-bridge-') && name !== FORGED,
  )
  const lock = join(target, own, 'lock')
  expect(statSync(lock).mode & 0o7777).toBe(0o1600)
  await expect(start()).rejects.toMatchObject({ code: 'EBUSY' })
  await first.close()
  await (await start()).close()
})

test('a ledger of 20 GB, most of it a hole, is not read', async () => {
  const { target, start } = await openTarget(0o755)
  const staging = await forge(target, [], '{')
  await truncate(join(staging, 'ledger'), 20 * 1024 ** 3).catch(() =>
    truncate(join(staging, 'ledger'), 1024 ** 3),
  )
  let bytes = 0
  const { read } = SyscallThread.prototype
  SyscallThread.prototype.read = async function (fd, most) {
    const chunk = await read.call(this, fd, most)
    bytes += chunk.length
    return chunk
  }
  onTestFinished(() => {
    SyscallThread.prototype.read = read
  })
  await (await start()).close()
  expect(bytes).toBeLessThan(5 * 1024 * 1024)
  expect(existsSync(staging), 'nor is it known for a mirror').toBe(true)
})

test('a ledger that would not be read again is not written', async () => {
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  const staging = await DirectoryHandle.open(calls, directory())
  // As many as a source may have, each about to be replaced: inode numbers and times as they are.
  const inodes = [`10000000:${Date.now()}000000`, `10000001:${Date.now()}000000`]
  const made = (bytes: number) =>
    new Map(Array.from({ length: 65_536 }, (_, n) => [String(n).padStart(bytes, 'x'), inodes]))
  const ledger = { target: 1n, createdTarget: false, only: '', made: made(40) }
  await writeStateFile(staging, ledger, 'target')
  expect(await readStateFile(staging)).toEqual(ledger)
  await expect(writeStateFile(staging, { ...ledger, made: made(80) }, 'target')).rejects.toMatchObject({
    code: 'EFBIG',
    path: 'target',
  })
  expect(await readStateFile(staging), 'the one before stays').toEqual(ledger)
})

test(`whoever may write the target and takes the staging directory as it is made gets nothing: ${TRIES} tries`, async ({
  skip,
}) => {
  if (!isRoot) skip('needs root')
  const { source, target } = await openTarget(0o777)
  const program = compile('take_names')
  chmodSync(dirname(program), 0o755)
  const attacker = spawn('setpriv', [...AS_NOBODY, program, target, '.inotify-bridge-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void attacker.kill())
  let taken = ''
  attacker.stdout.setEncoding('utf8').on('data', (text: string) => {
    taken += text
  })
  await once(attacker.stdout, 'data')
  for (let n = 0; n < TRIES; n++) {
    try {
      const started = await mirror(source, target, QUICK)
      // In a directory of its own it could read, and exchange, what is made ready.
      expect(theirs(target)).toEqual([])
      await started.close()
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
    }
  }
  attacker.stdin.end()
  await once(attacker, 'exit')
  expect(taken.split('\n').length, 'it got some').toBeGreaterThan(TRIES / 2)
  expect(theirs(target)).toEqual([])
})

describe.skipIf(!isRoot)(
  `directories exchanged for those just made, ${TRIES} times, by a program that waits for the event (needs root)`,
  () => {
    /** Lays a private directory beside what is made in `path` with the prefix, and has the two exchanged. */
    async function exchanging(path: string, prefix: string, uid: number) {
      const program = spawn(compile('exchange_names'), [path, prefix, 'sub', 'none'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      onTestFinished(() => void program.kill('SIGKILL'))
      await once(program.stdout, 'data')
      const privates: number[] = []
      return {
        async lay() {
          for (const name of readdirSync(path)) await rm(join(path, name), { recursive: true })
          await mkdir(join(path, 'sub'), { mode: 0o700 })
          await writeFile(join(path, 'sub/precious'), 'theirs')
          await lchown(join(path, 'sub'), uid, uid)
          privates.push(statSync(join(path, 'sub')).ino)
        },
        /** Describes the private directory laid last, wherever it is now. */
        find() {
          const all = readdirSync(path).map((name) => join(path, name))
          const found = all.find((each) => lstatSync(each).ino === privates.at(-1))
          if (found === undefined) return 'gone'
          const stat = lstatSync(found)
          return `${(stat.mode & 0o7777).toString(8)} of ${stat.uid}: ${readdirSync(found).join()}`
        },
        /** Returns how often the exchange was in time. */
        async end() {
          program.stdin.end()
          return Number(String((await once(program.stdout, 'data'))[0]))
        },
      }
    }

    for (const uid of [0, 1234]) {
      test(`the staging directory, for one of user ${uid}`, async () => {
        const { source } = await openTarget(0o755)
        const target = directory('/dev/shm')
        await chmod(target, 0o777)
        const attack = await exchanging(target, '.inotify-bridge-', uid)
        for (let n = 0; n < TRIES; n++) {
          await attack.lay()
          try {
            await (await mirror(source, target, QUICK)).close()
          } catch (error) {
            expect(error).toBeInstanceOf(InotifyError)
          }
          expect(attack.find()).toBe(`700 of ${uid}: precious`)
        }
        expect(await attack.end()).toBeGreaterThan(0)
      })

      test(`the target, for one of user ${uid}`, async () => {
        const { source } = await openTarget(0o755)
        giveAway(source)
        const parent = directory('/dev/shm')
        await chmod(parent, 0o777)
        const attack = await exchanging(parent, 'target', uid)
        for (let n = 0; n < TRIES; n++) {
          await attack.lay()
          try {
            const started = await mirror(source, join(parent, 'target'), QUICK)
            await started.close()
          } catch (error) {
            expect(error).toBeInstanceOf(InotifyError)
          }
          expect(attack.find()).toBe(`700 of ${uid}: precious`)
        }
        expect(await attack.end()).toBeGreaterThan(0)
      })
    }
  },
)

/** Lists the entries of directories in the target that belong to the user nobody. */
function theirs(target: string): string[] {
  const paths = readdirSync(target).map((name) => join(target, name))
  return paths.flatMap((path) => (lstatSync(path).uid === NOBODY ? readdirSync(path) : []))
}

const LEVELS = rounds(process.env.LEVELS, { quick: 1000, long: 2000 })

test(`a leftover that is ${LEVELS} levels deep is removed with few descriptors`, async ({ skip }) => {
  const { source, target } = await openTarget(0o755)
  const staging = await forge(target, [])
  await mkdir(join(staging, 'work0'), { mode: 0o700 })
  const chain = `process.chdir(process.argv[1]); for (let n = 0; n < ${LEVELS}; n++) { require('node:fs').mkdirSync('d'); process.chdir('d') }`
  expect(spawnSync(process.execPath, ['-e', chain, join(staging, 'work0')]).status).toBe(0)
  const main = join(import.meta.dirname, '../../dist/cli.js')
  if (!existsSync(main)) skip('needs dist')
  const { status, stderr } = spawnSync(
    'prlimit',
    ['--nofile=200', process.execPath, main, 'mirror', '--once', source, target],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(existsSync(staging)).toBe(false)
})
