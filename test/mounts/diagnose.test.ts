import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { diagnose, examine } from '../../src/mounts/diagnose.ts'
import { mountOf } from '../../src/mounts/mount_of.ts'
import { isWithin, type Mount, toMount } from '../../src/mounts/mountinfo.ts'
import { recorded } from './fixture.ts'

let root: string

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'inotify-bridge-diagnose-')))
  mkdirSync(join(root, 'share/..ts'), { recursive: true })
  mkdirSync(join(root, 'plain'))
  writeFileSync(join(root, 'share/..ts/key'), '')
  symlinkSync('..ts', join(root, 'share/..data'))
  symlinkSync('..data/key', join(root, 'share/key'))
  symlinkSync('../share/key', join(root, 'plain/to-share'))
  writeFileSync(join(root, 'plain/file'), '')
  symlinkSync('../plain/file', join(root, 'share/to-plain'))
})
afterAll(() => rmSync(root, { recursive: true }))

/** A lookup by which share/ and plain/ lie on the given mounts. */
function lookup(share: Mount, plain: Mount) {
  return (path: string) => (isWithin(realpathSync(path), join(root, 'share')) ? share : plain)
}

const virtiofs = toMount(recorded('kata_guest', '/etc/config'))
const overlay = toMount(recorded('kata_guest', '/usr'))
const ext4 = toMount(recorded('wsl2', '/home'))

describe('examine', () => {
  it('says all of a file on a silent mount, reached over a link on another', async () => {
    const path = join(root, 'plain/to-share')
    const found = await examine(path, lookup(virtiofs, overlay))
    expect(found).toMatchObject({
      path,
      realPath: join(root, 'share/..ts/key'),
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
    ])
    expect(found.advice.join(' ')).toMatch(/watch\(\).*inotify-bridge mirror SOURCE TARGET/)
  })

  it('polls for a link that others can change, though the file itself is safe', async () => {
    const found = await examine(join(root, 'share/to-plain'), lookup(virtiofs, ext4))
    expect(found).toMatchObject({ hops: [virtiofs], mount: ext4, remote: 'none', backend: 'inotify+poll' })
  })

  it('takes the most that any of the mounts needs', async () => {
    const proc = toMount(recorded('docker', '/proc'))
    expect((await examine(join(root, 'share/to-plain'), lookup(virtiofs, proc))).backend).toBe('poll')
    expect((await examine(join(root, 'share/to-plain'), lookup(proc, virtiofs))).backend).toBe('poll')
  })

  it('has no hops and nothing to advise for a plain file of an own disk', async () => {
    const found = await examine(join(root, 'plain/file'), lookup(virtiofs, ext4))
    expect(found).toMatchObject({ hops: [], mount: ext4, backend: 'inotify', pinned: 'no', advice: [] })
    expect(found.reasons).toHaveLength(1)
  })

  it('names a mount that several links lie on once in a row', async () => {
    const found = await examine(join(root, 'share/key'), lookup(virtiofs, ext4))
    expect(found.hops).toEqual([virtiofs])
    expect(found.reasons).toHaveLength(1)
  })

  it('does not take two mounts that the kernel gives no id for the same', async () => {
    const unnamed = (type: string) => ({ id: 0, point: '', root: '', type, source: '', options: [] })
    const [nfs, xfs] = [unnamed('nfs'), unnamed('xfs')]
    const found = await examine(join(root, 'share/to-plain'), lookup(nfs, xfs))
    expect(found).toMatchObject({ hops: [nfs], mount: xfs, backend: 'inotify+poll' })
    expect(found.reasons).toHaveLength(2)
  })

  it.each([
    ['/etc/app/app.yaml', 'static', /will not follow.*whole ConfigMap or Secret.*subPath/],
    ['/etc/app/old.yaml', 'stale', /restart the container.*whole ConfigMap/],
  ])('warns of a subPath: %s is %s', async (point, pinned, advice) => {
    const file = join(root, 'plain/file')
    const mount = { ...toMount(recorded('subpath', point)), point: file }
    const found = await examine(file, () => mount)
    expect(found.pinned).toBe(pinned)
    expect(found.advice[0]).toMatch(advice)
  })

  it("does not speak of Kubernetes about a container engine's single-file mount", async () => {
    const file = join(root, 'plain/file')
    const found = await examine(file, () => ({ ...toMount(recorded('docker', '/etc/hosts')), point: file }))
    expect(found.pinned).toBe('static')
    expect(found.advice[0]).toMatch(/mount its directory/)
    expect(found.advice[0]).not.toMatch(/ConfigMap/)
  })
})

describe('diagnose on this kernel', () => {
  it('knows /proc', async () => {
    const found = await diagnose('/proc/self/status')
    expect(found).toMatchObject({ local: 'lost', backend: 'poll', realPath: `/proc/${process.pid}/status` })
    expect(found.mount).toEqual(mountOf('/proc'))
    expect(found.hops).toEqual([mountOf('/proc')])
    expect(found.advice.join()).toMatch(/at intervals/)
    expect(found.limits.maxUserWatches).toBeGreaterThan(0)
  })

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
      syscall: 'statx',
      path: join(root, 'nothing'),
      hint: expect.stringMatching(/no such path/),
    })
  })
})
