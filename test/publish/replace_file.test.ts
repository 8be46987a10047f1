import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { InotifyError, replaceFile } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { openDescriptors } from '../support/descriptors.ts'
import { giveAway, isRoot, NOBODY } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { STRANGE_NAMES, watched } from './watched.ts'

function file(content?: string) {
  const directory = scratch()
  const path = join(directory, 'file')
  if (content !== undefined) writeFileSync(path, content)
  return { directory, path }
}

const modeOf = (path: string) => statSync(path).mode & 0o7777
const read = (path: string) => readFileSync(path, 'utf8')

test('a watcher sees one IN_MOVED_TO of the name and nothing else of it, new or replaced', async () => {
  const { directory, path } = file()
  for (const content of ['one', 'two']) {
    const { eventsOf } = watched(directory, true)
    await replaceFile(path, content)
    expect(await eventsOf('file')).toEqual(['IN_MOVED_TO file'])
    expect(read(path)).toBe(content)
  }
})

test('all that a watcher sees', async () => {
  const { directory, path } = file('one')
  const { events } = watched(directory)
  await replaceFile(path, 'two')
  const seen = (await events()).map((line) => line.replace(/\.inotify-bridge\.tmp-[0-9a-f]{12}/, 'TMP'))
  expect(seen).toEqual([
    'IN_CREATE TMP',
    'IN_MODIFY TMP',
    'IN_ATTRIB TMP',
    'IN_CLOSE_WRITE TMP',
    'IN_MOVED_FROM TMP',
    'IN_MOVED_TO file',
  ])
})

test.skipIf(!isRoot)(
  'a file that another user has laid in a sticky directory is not written for that user (needs root)',
  async () => {
    const { directory, path } = file('theirs')
    chmodSync(directory, 0o1777)
    giveAway(path)
    const refused = replaceFile(path, 'secret')
    await expect(refused).rejects.toMatchObject({ code: 'EACCES', path })
    await expect(refused).rejects.toThrow(/remove it first/)
    expect([read(path), readdirSync(directory)]).toEqual(['theirs', ['file']])
    chmodSync(directory, 0o755)
    await replaceFile(path, 'content')
    expect(statSync(path).uid).toBe(NOBODY)
  },
)

test('data: strings, bytes, views, nothing, and more than is written at once', async () => {
  const { path } = file()
  for (const data of ['', 'text ü', new Uint8Array([0, 255, 10]), Buffer.alloc(9_000_001, 'ab')]) {
    await replaceFile(path, data)
    expect(readFileSync(path).equals(Buffer.from(data as Uint8Array))).toBe(true)
  }
  await replaceFile(path, Buffer.from('0123456789').subarray(3, 5))
  expect(read(path)).toBe('34')
})

describe('mode and owner', () => {
  test('a new file has 0644, or the mode that is asked for, whatever the umask', async () => {
    const { directory, path } = file()
    const before = process.umask(0o077)
    onTestFinished(() => void process.umask(before))
    await replaceFile(path, '')
    expect(modeOf(path)).toBe(0o644)
    await replaceFile(join(directory, 'other'), '', { mode: 0o4711 })
    expect(modeOf(join(directory, 'other'))).toBe(0o4711)
  })

  test('a mode is kept but for the set-id bits, or replaced', async () => {
    const { path } = file('old')
    chmodSync(path, 0o6750)
    await replaceFile(path, 'new')
    expect(modeOf(path)).toBe(0o750)
    await replaceFile(path, 'new', { mode: 0o600 })
    expect(modeOf(path)).toBe(0o600)
  })

  test('where the mount says what modes there are, a mode that is asked for fails and no other', async () => {
    const { path } = file()
    vi.spyOn(SyscallThread.prototype, 'chmod').mockRejectedValue(new CallError(1, 'chmod'))
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(replaceFile(path, 'new', { mode: 0o640 })).rejects.toMatchObject({ code: 'EPERM' })
    await replaceFile(path, 'new')
    expect(read(path)).toBe('new')
  })

  test.skipIf(!isRoot)('owner and group are kept (needs root)', async () => {
    const { path } = file('old')
    chownSync(path, 1234, 5678)
    await replaceFile(path, 'new')
    expect(statSync(path)).toMatchObject({ uid: 1234, gid: 5678 })
    expect(read(path)).toBe('new')
  })

  test.skipIf(!isRoot).each([1, 22])(
    'an owner that cannot be kept (errno %i): nothing is published, and a hint says what to do (needs root)',
    async (errno) => {
      const { directory, path } = file('old')
      chownSync(path, 4321, 0)
      vi.spyOn(SyscallThread.prototype, 'chown').mockRejectedValue(new CallError(errno, 'chown'))
      onTestFinished(() => void vi.restoreAllMocks())
      const replaced = replaceFile(path, 'new')
      await expect(replaced).rejects.toMatchObject({ errno: -errno, syscall: 'chown', path })
      await expect(replaced).rejects.toThrow(/owner 4321:0 could not be kept: .*remove the file first/)
      expect(read(path)).toBe('old')
      expect(readdirSync(directory)).toEqual(['file'])
    },
  )
})

describe('symlinks', () => {
  test('are followed and stay, over several links and directories', async () => {
    const { directory, path } = file('old')
    mkdirSync(join(directory, 'sub'))
    symlinkSync('../file', join(directory, 'sub/relative'))
    symlinkSync(join(directory, 'sub/relative'), join(directory, 'link'))
    await replaceFile(join(directory, 'link'), 'new')
    expect(read(path)).toBe('new')
    expect(lstatSync(path).isSymbolicLink()).toBe(false)
    expect(readlinkSync(join(directory, 'link'))).toBe(join(directory, 'sub/relative'))
  })

  test('a dangling one: the file that it names is made; with a name that is no UTF-8, too', async () => {
    const { directory } = file()
    symlinkSync(Buffer.from('t\xffo', 'latin1'), join(directory, 'link'))
    await replaceFile(join(directory, 'link'), 'new')
    expect(readFileSync(Buffer.from(`${directory}/t\xffo`, 'latin1'), 'utf8')).toBe('new')
  })

  test('a circle is ELOOP, and one that leads into nowhere ENOENT', async () => {
    const { directory, path } = file()
    symlinkSync('file', path)
    await expect(replaceFile(path, '')).rejects.toMatchObject({ code: 'ELOOP', path })
    symlinkSync('no/such', join(directory, 'nowhere'))
    await expect(replaceFile(join(directory, 'nowhere'), '')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test.skipIf(!isRoot)("somebody else's in a sticky directory is not followed (needs root)", async () => {
    const { directory, path } = file('old')
    const shared = join(directory, 'shared')
    mkdirSync(shared)
    chmodSync(shared, 0o1777)
    symlinkSync(path, join(shared, 'link'))
    spawnSync('chown', ['-h', '4321', join(shared, 'link')])
    await expect(replaceFile(join(shared, 'link'), 'new')).rejects.toMatchObject({ code: 'EACCES' })
    expect(read(path)).toBe('old')
  })
})

test('other hard links keep the old content', async () => {
  const { directory, path } = file('old')
  linkSync(path, join(directory, 'other'))
  await replaceFile(path, 'new')
  expect([read(path), read(join(directory, 'other'))]).toEqual(['new', 'old'])
})

describe('what is refused leaves everything as it was', () => {
  test('a directory, and what ends like one', async () => {
    const directory = scratch()
    mkdirSync(join(directory, 'sub'))
    for (const name of ['sub', 'sub/', 'sub/.', '..'])
      await expect(replaceFile(`${directory}/${name}`, ''), name).rejects.toMatchObject({ code: 'EISDIR' })
    for (const name of ['missing/', 'missing/.', 'missing/..', 'sub/missing//'])
      await expect(replaceFile(`${directory}/${name}`, ''), name).rejects.toMatchObject({ code: 'ENOENT' })
    expect(readdirSync(directory)).toEqual(['sub'])
  })

  test('a FIFO, which is not waited for', async () => {
    const { directory, path } = file()
    spawnSync('mkfifo', [path])
    await expect(replaceFile(path, '')).rejects.toMatchObject({ code: 'EINVAL', path })
    expect(readdirSync(directory)).toEqual(['file'])
  })

  test('no such directory', async () => {
    const replaced = replaceFile('/no/such/file', '')
    await expect(replaced).rejects.toBeInstanceOf(InotifyError)
    await expect(replaced).rejects.toMatchObject({ code: 'ENOENT', hint: 'the directory must exist' })
  })

  test.skipIf(!mayUnshare)(
    'a file that is mounted, a read-only mount, a full one (needs unshare -rm)',
    async () => {
      using namespace = await enterNamespace(`
        mkdir full readonly; echo old >file; echo mounted >source; mount --bind source file
        mount -t tmpfs -o size=64k none full; echo old >full/file
        mount -t tmpfs none readonly; echo old >readonly/file; mount -o remount,ro readonly`)
      const at = (name: string) => join(namespace.reach(namespace.directory), name)
      const replaced = replaceFile(at('file'), 'new')
      await expect(replaced).rejects.toMatchObject({ code: 'EBUSY' })
      await expect(replaced).rejects.toThrow(/mount the directory/)
      expect(read(at('file'))).toBe('mounted\n')
      await expect(replaceFile(at('readonly/file'), 'new')).rejects.toMatchObject({ code: 'EROFS' })
      await expect(replaceFile(at('full/file'), 'x'.repeat(100_000))).rejects.toMatchObject({
        code: 'ENOSPC',
      })
      expect(readdirSync(at('full'))).toEqual(['file'])
      expect(read(at('full/file'))).toBe('old\n')
      expect(readdirSync(namespace.directory).filter((name) => name.startsWith('.'))).toEqual([])
    },
  )

  test('wrong arguments', async () => {
    const { path } = file()
    const call: (...args: unknown[]) => Promise<void> = replaceFile as never
    for (const args of [[''], [1], ['a\0b'], [path], [path, 1], [path, '', 1], [path, '', { mode: '644' }]])
      await expect(call(...args), String(args)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
    for (const mode of [-1, 0o10000, 1.5])
      await expect(replaceFile(path, '', { mode })).rejects.toThrow(/mode must be permission bits/)
  })
})

test.each(STRANGE_NAMES)('a name is a name: %j', async (name) => {
  const directory = scratch()
  const { eventsOf } = watched(directory)
  await replaceFile(join(directory, name), 'content')
  expect(readdirSync(directory)).toEqual([name])
  expect(await eventsOf(name)).toEqual([`IN_MOVED_TO ${name}`])
})

test('a path from the working directory', async () => {
  const { directory } = file()
  const before = process.cwd()
  process.chdir(directory)
  try {
    await replaceFile('here', 'content')
  } finally {
    process.chdir(before)
  }
  expect(read(join(directory, 'here'))).toBe('content')
})

test('it is on the disk before it has its name, and the name before it is done', async () => {
  const { path } = file('old')
  const order: string[] = []
  for (const name of ['write', 'sync', 'chmod', 'rename'] as const) {
    const original = SyscallThread.prototype[name] as (...args: unknown[]) => Promise<void>
    vi.spyOn(SyscallThread.prototype, name).mockImplementation(async function (
      this: SyscallThread,
      ...args: unknown[]
    ) {
      order.push(name)
      return await original.apply(this, args)
    })
  }
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(path, 'new')
  expect(order).toEqual(['write', 'chmod', 'sync', 'rename', 'sync'])
})

test('100 at once on one file: each is whole, nothing is left, and no descriptor open', async () => {
  const { directory, path } = file('old')
  const before = openDescriptors()
  const contents = Array.from({ length: 100 }, (_, n) => String(n % 10).repeat(10_000))
  await Promise.all(contents.map((content) => replaceFile(path, content)))
  expect(contents).toContain(read(path))
  expect(readdirSync(directory)).toEqual(['file'])
  await vi.waitFor(() => expect(openDescriptors()).toBeLessThanOrEqual(before), {
    timeout: 60_000,
    interval: 5,
  })
})

test('a link of /proc leads to what is open, not to a name', async () => {
  const { directory, path } = file('old')
  const fd = openSync(path, 'r')
  onTestFinished(() => closeSync(fd))
  unlinkSync(path)
  await expect(replaceFile(`/proc/self/fd/${fd}`, 'new')).rejects.toMatchObject({
    code: 'EINVAL',
    hint: expect.stringContaining('name the file'),
  })
  expect(readdirSync(directory)).toEqual([])
})
