import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { diagnose } from '../../src/mounts/diagnose.ts'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { mountOf } from '../../src/mounts/mount_of.ts'
import { toMount } from '../../src/mounts/mountinfo.ts'
import { chooseForPath } from '../../src/mounts/mounts_on_path.ts'
import { recorded } from './fixture.ts'
import { imagine, volume } from './imagined.ts'

const virtiofs = toMount(recorded('kata_guest', '/etc/config'))
const overlay = toMount(recorded('kata_guest', '/usr'))

describe('examine', () => {
  it('says all of a file on a silent mount, reached over a link on another', async () => {
    const files = { ...volume('/etc/config', 'key'), '/plain/to-share': '-> ../etc/config/key' }
    const { diagnosis: found, route } = await examine('/plain/to-share', imagine('kata_guest', { files }))
    expect(found).toMatchObject({
      path: '/plain/to-share',
      realPath: '/etc/config/..2024_05_17_09_12_44.1234567890/key',
      hops: [overlay, virtiofs],
      mount: virtiofs,
      local: 'delivered',
      remote: 'silent',
      pinned: 'no',
      backend: 'inotify+poll',
    })
    expect(found.reasons).toEqual([
      expect.stringMatching(/^\/ is overlay .*behind it/),
      expect.stringMatching(/^\/etc\/config is virtiofs .*host changes\.$/),
      expect.stringMatching(/^This is Kata/),
    ])
    expect(route.links.map(({ path, to, mount }) => [path, to, mount.type])).toEqual([
      ['/plain/to-share', '../etc/config/key', 'overlay'],
      ['/etc/config/key', '..data/key', 'virtiofs'],
      ['/etc/config/..data', '..2024_05_17_09_12_44.1234567890', 'virtiofs'],
    ])
  })

  it('takes the most that any of the mounts needs', async () => {
    const files = {
      '/mnt/nfs/link': '-> /proc/meminfo',
      '/proc/meminfo': 'file',
      '/proc/link': '-> /mnt/nfs/file',
      '/mnt/nfs/file': 'file',
    }
    const backend = async (path: string) =>
      (await examine(path, imagine('server', { files }))).diagnosis.backend
    expect(await backend('/mnt/nfs/link')).toBe('poll')
    expect(await backend('/proc/link')).toBe('poll')
    expect(await backend('/mnt/nfs/file')).toBe('inotify+poll')
  })

  it('names a mount that several links lie on once in a row', async () => {
    const files = volume('/etc/config', 'key')
    const { diagnosis } = await examine('/etc/config/key', imagine('kata_guest', { files }))
    expect(diagnosis.hops).toEqual([virtiofs])
  })

  it('does not take two mounts that the kernel gives no id for the same', async () => {
    const system = imagine('server', {
      files: { '/a/link': '-> /b/file', '/b/file': 'file' },
      withoutIds: true,
    })
    const sight = { ...system.sight, fType: async (path: string) => (path === '/a' ? 0x6969 : 0x58465342) }
    const { diagnosis } = await examine('/a/link', { ...system, sight, readMountinfo: () => '' })
    expect(diagnosis).toMatchObject({
      hops: [{ type: 'nfs' }],
      mount: { type: 'xfs' },
      backend: 'inotify+poll',
    })
    expect(diagnosis.reasons).toHaveLength(2)
  })

  it('reads the table once more for an id that was mounted between the two questions', async () => {
    const system = imagine('server', { files: { '/mnt/nfs/x': 'file' } })
    const texts = ['', system.readMountinfo()]
    const readMountinfo = () => texts.shift() ?? system.readMountinfo()
    const { diagnosis } = await examine('/mnt/nfs/x', { ...system, readMountinfo })
    expect(diagnosis.mount).toMatchObject({ type: 'nfs4', point: '/mnt/nfs' })
  })
})

describe('diagnose on this kernel', () => {
  let root: string

  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'inotify-bridge-diagnose-')))
    mkdirSync(join(root, 'a'))
    writeFileSync(join(root, 'a/file'), '')
    symlinkSync('a/file', join(root, 'link'))
  })
  afterAll(() => rmSync(root, { recursive: true }))

  it('knows /proc', async () => {
    const found = await diagnose('/proc/self/status')
    expect(found).toMatchObject({ local: 'lost', backend: 'poll', realPath: `/proc/${process.pid}/status` })
    expect(found.mount).toEqual(mountOf('/proc'))
    expect(found.hops).toEqual([mountOf('/proc')])
    expect(found.advice.join()).toMatch(/at intervals/)
    expect(found.limits.maxUserWatches).toBeGreaterThan(0)
  })

  it('follows the links of /proc that cannot be read', async () => {
    expect((await diagnose('/proc/self/cwd')).mount).toEqual(mountOf(process.cwd()))
  })

  it.each(['', 'a', 'a/file', 'link'])(
    "chooses what watch() does, and sees the kernel's mount: '%s'",
    async (path) => {
      const found = await diagnose(join(root, path))
      expect(found.realPath).toBe(realpathSync(join(root, path)))
      expect(found.mount).toEqual(mountOf(join(root, path)))
      expect(found.backend).toBe((await chooseForPath(join(root, path))).backend)
    },
  )

  it('has exactly the fields of the contract', async () => {
    const found = await diagnose(root)
    expect(Object.keys(found).sort()).toEqual(
      'advice backend hops limits local mount path pinned realPath reasons remote'.split(' '),
    )
    expect(Object.keys(found.mount).sort()).toEqual('id options point root source type'.split(' '))
  })

  it('rejects for a path that does not exist', async () => {
    await expect(diagnose(join(root, 'nothing'))).rejects.toMatchObject({
      name: 'InotifyError',
      code: 'ENOENT',
      errno: -2,
      syscall: 'statx',
      path: join(root, 'nothing'),
      hint: expect.stringMatching(/there is no \S+\/nothing/),
    })
  })
})

it('what is hidden by a later mount is not named as below', async () => {
  const row = (id: number, parent: number, point: string, type: string) =>
    `${id} ${parent} 0:${id} / ${point} rw - ${type} none rw\n`
  const system = imagine('server', { files: { '/a/x': 'file' } })
  const table = (last: string) => row(1, 0, '/', 'ext4') + row(2, 1, '/a/b', 'nfs4') + last
  const of = async (last: string) => {
    const mounted = { ...system, readMountinfo: () => table(last) }
    return (await examine('/a', mounted)).verdict.text
  }
  expect(await of('')).toMatch(/below: \/a\/b \(nfs4\)/)
  expect(await of(row(3, 2, '/a/b', 'tmpfs'))).not.toMatch(/below/)
  expect(await of(row(3, 2, '/a/b', 'virtiofs'))).toMatch(/below: \/a\/b \(virtiofs\)\./)
})
