// Names are bytes to the kernel, and need be no UTF-8: they are mirrored as they are, and what people are told of them is text. A character of a string here is a byte (latin1).
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { keyOf } from '../../src/name_key.ts'
import { begin, directory, fixture, inMemory } from './fixture.ts'
import { said } from './said.ts'

/** Two that are one as text, one that is part text, and one that begins like a character that goes on. */
const [ONE, OTHER, MIXED, HALF] = ['\xff', '\xfe', 'gr\xc3\xb6\xdfe', 'a\xc3'] as const

const bytes = (text: string) => Buffer.from(text, 'latin1')

/** A path of text, and names in bytes beneath it. */
function at(path: string, ...names: string[]): Buffer {
  return Buffer.concat([Buffer.from(path), ...names.map((name) => bytes(`/${name}`))])
}

/** All that is in a directory, by path: what files hold, what links say; the mirror's own left out. */
function all(path: string, below: readonly string[] = []): Record<string, string> {
  const found: Record<string, string> = {}
  const entries = readdirSync(at(path, ...below), { withFileTypes: true, encoding: 'buffer' })
  for (const entry of entries) {
    const name = entry.name.toString('latin1')
    if (name.startsWith('.inotify-bridge-')) continue
    const here = [...below, name]
    if (entry.isDirectory()) Object.assign(found, { [`${here.join('/')}/`]: '' }, all(path, here))
    else if (entry.isSymbolicLink())
      found[here.join('/')] = `-> ${readlinkSync(at(path, ...here), 'buffer').toString('latin1')}`
    else found[here.join('/')] = readFileSync(at(path, ...here), 'latin1')
  }
  return found
}

/** Swaps versions as the kubelet would if keys and version directories could have names that are no UTF-8. */
async function swap(source: string, version: string, files: Record<string, string>): Promise<void> {
  await mkdir(at(source, version))
  for (const [key, text] of Object.entries(files)) {
    await writeFile(at(source, version, key), text)
    await symlink(bytes(`..data/${key}`), at(source, key)).catch(() => {})
  }
  const hadData = readdirSync(source).includes('..data')
  const old = hadData ? readlinkSync(join(source, '..data'), 'buffer') : undefined
  await symlink(bytes(version), join(source, '..data_tmp'))
  await rename(join(source, '..data_tmp'), join(source, '..data'))
  if (old !== undefined) await rm(at(source, old.toString('latin1')), { recursive: true })
}

test('files, directories and links are mirrored byte for byte, and what they become', async () => {
  const { source, target, start } = fixture()
  await mkdir(at(source, MIXED))
  for (const name of [ONE, OTHER, HALF]) {
    await writeFile(at(source, name), name)
    await writeFile(at(source, MIXED, name), `in ${name}`)
  }
  await symlink(bytes(`${MIXED}/${ONE}`), at(source, 'to\x80'))
  // Into the source, which becomes a relative one.
  await symlink(at(source, MIXED, OTHER), at(source, MIXED, 'absolute'))
  const mirror = await start()
  expect(mirror.skipped).toEqual([])
  expect(all(target)).toEqual({ ...all(source), [`${MIXED}/absolute`]: `-> ${OTHER}` })

  const { updates } = said(mirror)
  await writeFile(at(source, ONE), 'changed')
  await writeFile(at(source, OTHER), 'changed as well')
  await rename(at(source, MIXED, HALF), at(source, MIXED, `${HALF}\xbf`))
  await unlink(at(source, 'to\x80'))
  await symlink(bytes('\x81'), at(source, 'to\x80'))
  await mirror.refresh()
  expect(all(target)).toEqual({ ...all(source), [`${MIXED}/absolute`]: `-> ${OTHER}` })
  // As text, in which two are one.
  expect(updates).toEqual([['grö\ufffde/aÿ', 'grö\ufffde/a\ufffd', 'to\ufffd', '\ufffd']])

  for (const name of [ONE, MIXED]) await rm(at(source, name), { recursive: true })
  await mirror.refresh()
  expect(all(target)).toEqual(all(source))
})

test('keys behind ..data, and version directories, are too', async () => {
  const { source, target, start } = fixture()
  await swap(source, '..one\xff', { [ONE]: '1', [OTHER]: '2', plain: '3' })
  const mirror = await start()
  expect(all(target)).toEqual(all(source))
  const { updates } = said(mirror)
  await swap(source, '..two\xff', { [ONE]: '1', [OTHER]: 'new', plain: '3' })
  await mirror.refresh()
  expect(all(target)).toEqual(all(source))
  // Another version of it that is called the same as text.
  await swap(source, '..two\xfe', { [ONE]: 'newer', [OTHER]: 'new', plain: '3' })
  await mirror.refresh()
  expect(all(target)).toEqual(all(source))
  expect(updates).toEqual([['\ufffd'], ['\ufffd']])
  await unlink(join(source, '..data'))
  await symlink(bytes('..none\xfd'), join(source, '..data'))
  await mirror.refresh()
  expect(mirror.skipped).toEqual([{ path: '..data', reason: 'leads to ..none\ufffd, which is not there' }])
})

test('beyond the limits links lead to the very names', async () => {
  const { source, target, start } = fixture()
  await mkdir(at(source, MIXED))
  for (const name of [ONE, OTHER]) await writeFile(at(source, MIXED, name), name)
  const mirror = await start({ limits: { files: 1, bytes: 1000 } })
  expect(mirror.state).toBe('over-limit')
  for (const name of [ONE, OTHER]) {
    expect(readlinkSync(at(target, MIXED, name), 'buffer')).toEqual(at(source, MIXED, name))
    expect(readFileSync(at(target, MIXED, name), 'utf8')).toBe(name)
  }
  await rm(at(source, MIXED, ONE))
  await mirror.refresh()
  expect(mirror.state).toBe('mirroring')
  expect(all(target)).toEqual(all(source))
})

test('a link counts against the limits as many bytes as it says', async () => {
  const { source, start } = fixture()
  await symlink(bytes('\xff'.repeat(100)), join(source, 'link'))
  expect((await start({ limits: { files: 1, bytes: 100 } })).state).toBe('mirroring')
})

test('what a run has left is the next one’s: nothing is made anew, and what is gone is removed', async () => {
  const { source, target, start } = fixture()
  await mkdir(at(source, MIXED))
  for (const name of [ONE, OTHER]) {
    await writeFile(at(source, name), name)
    await writeFile(at(source, MIXED, name), name)
  }
  await symlink(bytes(ONE), at(source, HALF))
  const first = await start()
  const inodes = () => [[ONE], [OTHER], [HALF], [MIXED, ONE]].map((path) => statSync(at(target, ...path)).ino)
  const made = inodes()
  await first.close({ keep: true })
  // Somebody else's, of a name that is the same as text.
  await writeFile(at(target, '\xfd'), 'theirs')
  const second = await start()
  expect(inodes()).toEqual(made)
  await rm(at(source, OTHER))
  await rm(at(source, MIXED, OTHER))
  await second.refresh()
  expect(all(target)).toEqual({ ...all(source), '\xfd': 'theirs' })
  await second.close({ keep: true })
  for (const name of [ONE, HALF, MIXED]) await rm(at(source, name), { recursive: true })
  await start()
  expect(all(target)).toEqual({ '\xfd': 'theirs' })
})

test('a single file may be reached by such names', async () => {
  const above = directory()
  mkdirSync(at(above, MIXED))
  await writeFile(at(above, MIXED, ONE), 'one')
  await symlink(bytes(`${MIXED}/${ONE}`), join(above, 'file'))
  const target = join(inMemory(), 'copy')
  const mirror = await begin(join(above, 'file'), target)
  expect(readFileSync(target, 'utf8')).toBe('one')
  await writeFile(at(above, MIXED, OTHER), 'other')
  await symlink(bytes(`${MIXED}/${OTHER}`), join(above, 'next'))
  await rename(join(above, 'next'), join(above, 'file'))
  await mirror.refresh()
  expect(readFileSync(target, 'utf8')).toBe('other')
})

test('a directory may be reached by such names, and absolute links into it are known', async () => {
  const above = directory()
  mkdirSync(at(above, ONE))
  await symlink(bytes(ONE), join(above, 'source'))
  await writeFile(at(above, ONE, 'a'), 'A')
  await symlink(at(above, ONE, 'a'), at(above, ONE, 'link'))
  const target = join(inMemory(), 'target')
  const mirror = await begin(join(above, 'source'), target)
  expect(mirror.skipped).toEqual([])
  expect(all(target)).toEqual({ a: 'A', link: '-> a' })
})

test('what is said of such names is text', async () => {
  const { source, start } = fixture()
  // An argument of a program is text.
  execFileSync('mkfifo', [join(source, 'fifo')])
  await rename(join(source, 'fifo'), at(source, `fifo${ONE}`))
  await symlink(bytes(`/etc/${ONE}`), at(source, `link${OTHER}`))
  expect((await start()).skipped).toEqual([
    { path: 'fifo\ufffd', reason: 'a FIFO, not a file, directory or symlink' },
    { path: 'link\ufffd', reason: 'links outside the source: /etc/\ufffd' },
  ])

  const sources = [directory(), directory()]
  const both = await begin(sources, join(inMemory(), 'target'))
  const { errors } = said(both)
  for (const each of sources) await writeFile(at(each, ONE), each)
  await writeFile(at(sources[1] ?? '', OTHER), 'no conflict')
  await both.refresh()
  expect(errors).toMatchObject([{ code: 'EEXIST', path: `${sources[1]}/\ufffd` }])
  expect(errors[0]?.message.isWellFormed()).toBe(true)
})

// By its name beneath a directory, as more than a few files are: one that is not found counts as changed, at every look.
test('a file of such a name that is awaited to change is found', async () => {
  const above = inMemory()
  await writeFile(at(above, ONE), '')
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  await using held = await DirectoryHandle.open(calls, above)
  const name = keyOf(bytes(ONE))
  const key = await held.lstat(name)
  const waiting = calls.awaitChange(
    [{ fd: held.fd, name, revalidate: false, key }],
    { soon: 1, interval: 1, limit: 20 },
    true,
  )
  expect((await waiting).ended).toBe('quiet')
})

test('a path that is given is text, whatever it looks like as a key', async () => {
  const above = directory()
  mkdirSync(at(above, ONE))
  await expect(begin(join(above, keyOf(bytes(ONE))), join(inMemory(), 'target'))).rejects.toMatchObject({
    code: 'ENOENT',
    path: join(above, '\ufffd'),
  })
})
