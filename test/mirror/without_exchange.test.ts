// Targets on file systems that cannot have two entries change places (FUSE, NFS, CIFS, 9p, gVisor): what varies is what an entry was and becomes, how the
// file system says that it cannot, and by which of its ways the mirror exchanges. And what is left there by close(): nothing.
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { RENAME_EXCHANGE, SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory, fixture } from './fixture.ts'
import { shownIn } from './names.ts'
import { playedBy } from './played_by.ts'

const KINDS = ['file', 'directory', 'link'] as const
type Kind = (typeof KINDS)[number]

function make(path: string, kind: Kind): void {
  rmSync(path, { recursive: true, force: true })
  if (kind === 'file') writeFileSync(path, 'content')
  else if (kind === 'link') symlinkSync('nowhere', path)
  else {
    mkdirSync(path)
    writeFileSync(join(path, 'in'), 'content')
  }
}

function kindOf(path: string): Kind {
  const stat = lstatSync(path)
  if (stat.isDirectory()) return 'directory'
  return stat.isFile() ? 'file' : 'link'
}

const CHANGES = KINDS.flatMap((from) => KINDS.filter((to) => to !== from).map((to) => [from, to] as const))

/**
 * From now on the flag is refused: how often it was is returned.
 *
 * @param movesAway false: nor may an entry be moved out of its directory, as one of another user's
 * @param failing the rename without the flag that fails, onto an entry of this name
 */
function refuse(errno: number, movesAway = true, failing = { name: '', nth: 0 }): () => number {
  const { rename } = SyscallThread.prototype
  let [refused, plain] = [0, 0]
  const spy = vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async function (
    this: SyscallThread,
    from,
    to,
    flags,
  ) {
    const isExchange = flags === RENAME_EXCHANGE
    if (isExchange && from.fd !== to.fd && !movesAway) throw new CallError(constants.errno.EACCES, 'rename')
    if (isExchange) refused++
    if (isExchange) throw new CallError(errno, 'rename')
    if (to.name === failing.name && ++plain === failing.nth)
      throw new CallError(constants.errno.EIO, 'rename')
    await rename.call(this, from, to, flags)
  })
  onTestFinished(() => spy.mockRestore())
  return () => refused
}

describe.each(['EINVAL', 'ENOSYS', 'ENOTSUP'] as const)('refused as %s', (name) => {
  const errno = constants.errno[name]

  test.each([true, false])(
    'an entry that becomes another kind of entry (directories may be moved away: %s)',
    async (movesAway) => {
      const { source, target, start } = fixture()
      for (const [from, to] of CHANGES) make(join(source, `${from}-${to}`), from)
      const mirror = await start()
      const refused = refuse(errno, movesAway)
      for (const [from, to] of CHANGES) make(join(source, `${from}-${to}`), to)
      await mirror.refresh()
      await mirror.refresh()
      expect(mirror.errors).toEqual([])
      expect(refused()).toBeGreaterThan(0)
      const found = CHANGES.map(([from, to]) => kindOf(join(target, `${from}-${to}`)))
      expect(found).toEqual(CHANGES.map(([, to]) => to))
      expect(await shownIn(target)).toEqual((await readdir(source)).sort())
      await mirror.close()
      expect(existsSync(target)).toBe(false)
    },
  )

  test("somebody's directory at ..data", async () => {
    const { source, target, start } = fixture()
    await atomicWrite(source, { a: '1' })
    const mirror = await start()
    const refused = refuse(errno)
    await rm(join(target, '..data'))
    await mkdir(join(target, '..data/theirs'), { recursive: true })
    await atomicWrite(source, { a: '2' })
    await mirror.refresh()
    expect(refused()).toBe(1)
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(await shownIn(target)).toEqual((await readdir(source)).sort())
  })
})

test('what cannot take the place leaves what was there', async () => {
  const { source, target, start } = fixture()
  make(join(source, 'entry'), 'directory')
  const mirror = await start()
  mirror.on('error', () => {})
  // The second: behind the one that rename(2) refuses, as it is a directory, and the way aside.
  refuse(constants.errno.EINVAL, true, { name: 'entry', nth: 2 })
  make(join(source, 'entry'), 'file')
  await mirror.refresh()
  expect(mirror.errors).toMatchObject([{ code: 'EIO' }])
  expect(readdirSync(join(target, 'entry'))).toEqual(['in'])
  await mirror.refresh()
  expect(kindOf(join(target, 'entry'))).toBe('file')
})

const canPlay =
  mayUnshare &&
  existsSync(join(import.meta.dirname, '../../dist/index.js')) &&
  spawnSync('bindfs', ['--version']).status === 0

test.skipIf(!canPlay)(
  'on bindfs, by mirrors that come and go (needs unshare -rm, bindfs and dist)',
  async () => {
    interface Played {
      found: string[]
      errors: string[]
      left: string[][]
    }
    const program = join(import.meta.dirname, 'without_exchange.mjs')
    expect(await playedBy<Played>(program, directory())).toEqual({
      found: ['x is a file', 'y is a directory'],
      errors: [],
      left: Array(10).fill([]),
    })
  },
)
