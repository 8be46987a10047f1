import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { fixture } from './fixture.ts'
import { shownIn } from './names.ts'

test('an empty source makes an empty target', async () => {
  const { target, start } = fixture()
  const mirror = await start()
  expect(await shownIn(target)).toEqual([])
  expect(mirror.state).toBe('mirroring')
})

test('names that only begin like that of a staging directory are content', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, '.inotify-bridge-notes'), 'theirs')
  // As a mirror leaves it that was killed while this directory was its target.
  await mkdir(join(source, '.inotify-bridge-0123456789ab'))
  const mirror = await start()
  expect(await readFile(join(target, '.inotify-bridge-notes'), 'utf8')).toBe('theirs')
  expect(existsSync(join(target, '.inotify-bridge-0123456789ab'))).toBe(false)
  expect(mirror.skipped).toEqual([])
})

test('a file is there when mirror() resolves, and follows change, chmod and removal', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'app.yaml'), 'one', { mode: 0o640 })
  const mirror = await start()
  const updates: unknown[] = []
  mirror.on('update', (update) => updates.push(update))
  expect(await readFile(join(target, 'app.yaml'), 'utf8')).toBe('one')
  expect((await stat(join(target, 'app.yaml'))).mode & 0o777).toBe(0o640)

  await writeFile(join(source, 'app.yaml'), 'two')
  await mirror.refresh()
  expect(await readFile(join(target, 'app.yaml'), 'utf8')).toBe('two')

  const { ino } = await stat(join(target, 'app.yaml'))
  await chmod(join(source, 'app.yaml'), 0o600)
  await mirror.refresh()
  expect(await stat(join(target, 'app.yaml'))).toMatchObject({ ino, mode: 0o100600 })

  await unlink(join(source, 'app.yaml'))
  await mirror.refresh()
  expect(await shownIn(target)).toEqual([])
  expect(updates).toEqual([2, 3, 4].map((generation) => ({ changed: ['app.yaml'], generation })))
})

test('a change of the same size with its mtime set back is seen; a touch is none', async () => {
  const { source, target, start } = fixture()
  const path = join(source, 'a')
  await writeFile(path, 'old')
  await utimes(path, 1000, 1000)
  const mirror = await start()
  await writeFile(path, 'new')
  await utimes(path, 1000, 1000)
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('new')
  mirror.on('update', () => expect.unreachable('a touch changes nothing'))
  await utimes(path, 2000, 2000)
  await mirror.refresh()
})

test('a file that is being written keeps its last good version until it holds still', async () => {
  const { source, target, start } = fixture()
  const path = join(source, 'log')
  await writeFile(path, 'whole')
  const mirror = await start({ quiet: 100 })
  await writeFile(path, 'ha')
  const pass = mirror.refresh()
  const writer = setInterval(() => void appendFile(path, 'lf'), 10)
  await pass
  clearInterval(writer)
  expect(await readFile(join(target, 'log'), 'utf8')).toBe('whole')
  expect(mirror.skipped).toMatchObject([{ path: 'log', reason: expect.stringContaining('held still') }])
  await mirror.refresh()
  expect(await readFile(join(target, 'log'), 'utf8')).toBe(await readFile(path, 'utf8'))
  expect(mirror.skipped).toEqual([])
})

test('directories are mirrored, empty ones as well, and entries change their kind', async () => {
  const { source, target, start } = fixture()
  await mkdir(join(source, 'a/b/empty'), { recursive: true })
  await writeFile(join(source, 'a/b/file'), 'deep')
  const mirror = await start()
  expect(await readdir(join(target, 'a/b'))).toEqual(['empty', 'file'])

  await rmdir(join(source, 'a/b/empty'))
  await writeFile(join(source, 'a/b/empty'), 'a file now')
  await unlink(join(source, 'a/b/file'))
  await mkdir(join(source, 'a/b/file'))
  await mirror.refresh()
  expect(await readFile(join(target, 'a/b/empty'), 'utf8')).toBe('a file now')
  expect(await readdir(join(target, 'a/b/file'))).toEqual([])

  await rm(join(source, 'a'), { recursive: true })
  await symlink('nowhere', join(source, 'a'))
  await mirror.refresh()
  expect(await readlink(join(target, 'a'))).toBe('nowhere')
  await unlink(join(source, 'a'))
  await mirror.refresh()
  expect(await shownIn(target)).toEqual([])
})

test('symlinks: dangling and relative as they are, absolute into the source relative, outside not at all', async () => {
  const { source, target, start } = fixture()
  await mkdir(join(source, 'sub'))
  await writeFile(join(source, 'file'), 'text')
  await symlink('missing', join(source, 'dangling'))
  await symlink('../file', join(source, 'sub/up'))
  await symlink(join(source, 'file'), join(source, 'sub/absolute'))
  await symlink('/etc/passwd', join(source, 'outside'))
  await symlink('../..', join(source, 'sub/above'))
  const mirror = await start()
  expect(await readlink(join(target, 'dangling'))).toBe('missing')
  expect(await readlink(join(target, 'sub/up'))).toBe('../file')
  expect(await readlink(join(target, 'sub/absolute'))).toBe('../file')
  expect(existsSync(join(target, 'outside'))).toBe(false)
  expect(mirror.skipped).toEqual([
    { path: 'outside', reason: 'links outside the source: /etc/passwd' },
    { path: 'sub/above', reason: 'links outside the source: ../..' },
  ])
  mirror.on('update', () => expect.unreachable('a standing dangling link is no event'))
  await mirror.refresh()
})

test('a FIFO is skipped and reported once, and blocks nothing', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  const skipped: unknown[] = []
  mirror.on('skipped', (entry) => skipped.push(entry))
  execFileSync('mkfifo', [join(source, 'pipe')])
  await writeFile(join(source, 'z'), '2')
  await mirror.refresh()
  await mirror.refresh()
  expect(await shownIn(target)).toEqual(['a', 'z'])
  expect(skipped).toEqual([{ path: 'pipe', reason: 'a FIFO, not a file, directory or symlink' }])
})

test('over the limit entries become links to the source, and files again when it shrinks', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  await writeFile(join(source, 'b'), '2')
  const mirror = await start({ limits: { files: 2, bytes: 100 } })
  const states: unknown[] = []
  mirror.on('state', (...state) => states.push(state))
  await writeFile(join(source, 'c'), '3')
  await mirror.refresh()
  expect(mirror.state).toBe('over-limit')
  expect(await readlink(join(target, 'a'))).toBe(join(source, 'a'))
  await writeFile(join(source, 'a'), 'flows')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('flows')
  await unlink(join(source, 'c'))
  await mirror.refresh()
  expect(await shownIn(target)).toEqual(['a', 'b'])
  expect((await stat(join(target, 'a'))).ino).not.toBe((await stat(join(source, 'a'))).ino)
  expect(states).toEqual([
    ['over-limit', '3 files, at most 2'],
    ['mirroring', ''],
  ])
})

test("overLimit: 'hold' keeps the last good version", async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start({ limits: { files: 10, bytes: 3 }, overLimit: 'hold' })
  await writeFile(join(source, 'a'), '1234')
  await mirror.refresh()
  expect(mirror.state).toBe('over-limit')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await writeFile(join(source, 'a'), '123')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('123')
})

test.each([
  { others: 'the other goes', left: ['key'] },
  { others: 'the other has a new version', left: ['..data', '..next', 'key', 'other'] },
])(
  'a key that has become a file which is being written stays the key that it was: $others',
  async ({ left }) => {
    const { source, target, start } = fixture()
    await atomicWrite(source, { key: 'one', other: 'one' })
    const mirror = await start({ quiet: 100 })
    const generation = await readlink(join(source, '..data'))
    const write = async (text: string) => {
      await writeFile(join(source, '.next'), text)
      await rename(join(source, '.next'), join(source, 'key'))
    }
    await write('two')
    if (left.includes('other')) {
      await mkdir(join(source, '..next'))
      await writeFile(join(source, '..next', 'other'), 'two')
      await symlink('..next', join(source, '..data_tmp'))
      await rename(join(source, '..data_tmp'), join(source, '..data'))
    } else {
      for (const name of ['other', '..data']) await unlink(join(source, name))
    }
    await rm(join(source, generation), { recursive: true })
    let n = 0
    let writing = Promise.resolve()
    const writer = setInterval(() => {
      writing = writing.then(() => write('more'.repeat(++n)))
    }, 5)
    try {
      await mirror.refresh()
      // A file that the held-up writer left alone for 100 ms counts as still: 'more' may be there.
      expect(await readFile(join(target, 'key'), 'utf8')).toMatch(/^(one|two|(more)+)$/)
    } finally {
      clearInterval(writer)
      await writing
    }
    await mirror.refresh()
    expect(await shownIn(target)).toEqual(left)
    expect(await readFile(join(target, 'key'), 'utf8')).toBe('more'.repeat(n))
  },
)
