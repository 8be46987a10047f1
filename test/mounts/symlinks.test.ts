import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { followSymlinks } from '../../src/mounts/syscalls/symlinks.ts'

let root: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'inotify-bridge-links-')))
})
afterEach(() => rmSync(root, { recursive: true }))

it("follows a ConfigMap's chain and names the directory of each link", async () => {
  mkdirSync(join(root, 'config/..ts'), { recursive: true })
  writeFileSync(join(root, 'config/..ts/app.yaml'), '')
  symlinkSync('..ts', join(root, 'config/..data'))
  symlinkSync('..data/app.yaml', join(root, 'config/app.yaml'))
  symlinkSync(join(root, 'config'), join(root, 'etc'))
  expect(await followSymlinks(join(root, 'etc/app.yaml'))).toEqual({
    realPath: join(root, 'config/..ts/app.yaml'),
    linkDirectories: [root, join(root, 'config'), join(root, 'config')],
    links: [
      { path: join(root, 'etc'), to: join(root, 'config') },
      { path: join(root, 'config/app.yaml'), to: '..data/app.yaml' },
      { path: join(root, 'config/..data'), to: '..ts' },
    ],
    left: [],
  })
})

it("takes '..' behind a link from where the link leads", async () => {
  mkdirSync(join(root, 'far/away'), { recursive: true })
  writeFileSync(join(root, 'far/file'), '')
  symlinkSync('far/away', join(root, 'near'))
  symlinkSync('near/../file', join(root, 'link'))
  expect((await followSymlinks(join(root, 'link'))).realPath).toBe(join(root, 'far/file'))
})

it("names what a '..' leaves again, unless a link lies below it; above the root there is nothing to leave", async () => {
  for (const name of ['in/deep', 'on/way', 'end']) mkdirSync(join(root, name), { recursive: true })
  symlinkSync('../../in/deep/../../end', join(root, 'on/way/next'))
  symlinkSync(`${'../'.repeat(40)}${root}/on/way/next`, join(root, 'first'))
  const { realPath, left } = await followSymlinks(join(root, 'first'))
  expect(realPath).toBe(join(root, 'end'))
  // As far as there is something to leave.
  const above = root.split('/').map((_, i, names) => names.slice(0, i + 1).join('/'))
  expect(left.filter((each) => !above.includes(each))).toEqual([join(root, 'in/deep'), join(root, 'in')])
  expect(left).not.toContain('/')
})

it('resolves a relative path and has no links without any', async () => {
  expect(await followSymlinks('.')).toMatchObject({ realPath: realpathSync('.') })
  expect(await followSymlinks(root)).toEqual({ realPath: root, linkDirectories: [], links: [], left: [] })
  expect(await followSymlinks('/')).toEqual({ realPath: '/', linkDirectories: [], links: [], left: [] })
})

it('does not read the links of /proc that the kernel jumps through', async () => {
  const own = `/proc/${process.pid}`
  expect(await followSymlinks('/proc/self/root/proc/self')).toMatchObject({
    realPath: `${own}/root${own}`,
    linkDirectories: ['/proc', `${own}/root/proc`],
  })
})

it.each([
  ['ENOENT', 'missing/file', () => undefined],
  ['ENOTDIR', 'file/below', () => writeFileSync(join(root, 'file'), '')],
  ['ELOOP', 'circle', () => symlinkSync('circle', join(root, 'circle'))],
])('fails with %s for %s', async (code, path, prepare) => {
  prepare()
  await expect(followSymlinks(join(root, path))).rejects.toMatchObject({
    code,
    syscall: 'statx',
    path: join(root, path),
  })
})
