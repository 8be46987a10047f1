import { expect, test } from 'vitest'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { resolveWithDeadline } from '../../src/mounts/diagnosis/path_resolution.ts'
import { checkRename } from '../../src/mounts/diagnosis/rename_check.ts'
import { type Files, imagine } from './imagined.ts'

async function move(table: string, from: string, to: string, files: Files = {}) {
  const system = imagine(table, { files })
  const end = async (path: string) => ({ path, ...(await examine(path, system)) })
  return checkRename(await end(from), await end(to))
}

test('Envoy: a file that is moved in from another mount is copied, and no IN_MOVED_TO comes', async () => {
  const found = await move('pod', '/cache', '/work')
  expect(found).toMatchObject({
    outcome: 'EXDEV',
    from: { path: '/cache', mount: { type: 'tmpfs' } },
    to: { path: '/work', mount: { type: 'ext4' } },
    verdict: expect.stringMatching(
      /^A file moved from \/cache to \/work will be EXDEV, and no watcher of \/work will see IN_MOVED_TO/,
    ),
    why: 'They lie on different mounts: /cache (tmpfs) and /work (ext4, /var/lib/kubelet/pods/5b3c/volumes/kubernetes.io~empty-dir/work of it).',
  })
  expect(found.advice[0]).toContain('inotify-bridge publish FILE /work')
  expect(found.advice[1]).toContain('cp NEW /work/.NAME.tmp && mv /work/.NAME.tmp /work/NAME')
})

test('two binds of one file system: st_dev is the same, EXDEV nevertheless', async () => {
  const found = await move('pod', '/work', '/out')
  expect(found.outcome).toBe('EXDEV')
  expect(found.why).toMatch(/two mounts of one file system.*st_dev is the same/)
  expect((await move('server', '/srv', '/bind/app', { '/srv/x': 'file' })).outcome).toBe('EXDEV')
})

test('on one mount it is a rename', async () => {
  const files = { '/srv/a/file': 'file', '/srv/b/file': 'file' }
  for (const [from, to] of [
    ['/srv/a', '/srv/b'],
    ['/srv/a/file', '/srv/b'],
    ['/srv/a/file', '/srv/b/file'],
  ] as const) {
    expect(await move('server', from, to, files)).toMatchObject({
      outcome: 'rename',
      from: { path: '/srv/a' },
      to: { path: '/srv/b' },
      verdict: expect.stringMatching(/a watcher of \/srv\/b sees IN_MOVED_TO/),
      advice: [],
    })
  }
})

test('a mount point is neither moved nor replaced', async () => {
  const files = { '/opt/app/app.yaml': 'file', '/srv/new': 'file' }
  for (const [from, to] of [
    ['/srv/new', '/opt/app/app.yaml'],
    ['/opt/app/app.yaml', '/srv'],
  ] as const) {
    const { outcome, verdict } = await move('pod', from, to, files)
    expect(outcome).toBe('EBUSY')
    expect(verdict).toMatch(/^\/opt\/app\/app\.yaml is a mount point/)
  }
})

test('two subvolumes of one mount are EXDEV as well', async () => {
  const system = imagine('btrfs', { files: { '/home/a/x': 'file', '/home/b/x': 'file' } })
  const [a, b] = [await resolveWithDeadline('/home/a', system), await resolveWithDeadline('/home/b', system)]
  const other = { ...b, seen: { ...b.seen, device: b.seen.device + 1n } }
  const found = checkRename(
    { path: '/home/a', route: a, directory: a },
    { path: '/home/b', route: other, directory: other },
  )
  expect(found).toMatchObject({ outcome: 'EXDEV', why: expect.stringMatching(/different subvolumes/) })
})

test('what is mounted read-only takes no file, from wherever', async () => {
  for (const from of ['/work', '/etc/config']) {
    const { outcome, verdict } = await move('pod', from, '/etc/config')
    expect(outcome).toBe('EROFS')
    expect(verdict).toMatch(/No file can be moved to \/etc\/config/)
  }
})
