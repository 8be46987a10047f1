// Limits of the reports and the memory that a source can cause by entries that are not mirrored.
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { MAX_ENTRIES } from '../../src/mirror/source/snapshot.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { fixture } from './fixture.ts'
import { said } from './said.ts'

test('a hundred are named, and how many there are more', async () => {
  const { source, start } = fixture()
  const mirror = await start()
  const { skipped } = said(mirror)
  for (let n = 100; n < 250; n++) await symlink('/etc/shadow', join(source, `link${n}`))
  await mirror.refresh()
  expect(skipped).toHaveLength(101)
  expect(skipped[99]).toMatchObject({ path: 'link199' })
  expect(skipped[100]).toEqual({ path: '.', reason: 'and 50 more entries' })
  expect(mirror.skipped).toEqual(skipped)
  // Names that go on changing are no more lines.
  for (let n = 100; n < 250; n++) await rm(join(source, `link${n}`))
  for (let n = 100; n < 350; n++) await symlink('/etc/shadow', join(source, `other${n}`))
  await mirror.refresh()
  expect(skipped).toHaveLength(202)
})

test('of the text of a link some 200 bytes are told', async () => {
  const { source, start } = fixture()
  await symlink(`/${'x'.repeat(4000)}`, join(source, 'long'))
  // Three bytes each, and not one of them half.
  await symlink(`/${'€'.repeat(1000)}`, join(source, 'wide'))
  await symlink('/a, b', join(source, 'comma'))
  expect((await start()).skipped).toEqual([
    { path: 'comma', reason: 'links outside the source: /a, b' },
    { path: 'long', reason: `links outside the source: /${'x'.repeat(199)}...` },
    { path: 'wide', reason: `links outside the source: /${'€'.repeat(66)}...` },
  ])
})

test('what links say counts as bytes, but for those of a ConfigMap itself', async () => {
  const { source, start } = fixture()
  const limits = { files: 10, bytes: 1000 }
  await atomicWrite(source, { a: 'a'.repeat(500), b: 'b'.repeat(500) })
  const mirror = await start({ limits })
  expect(mirror.state).toBe('mirroring')
  await symlink('a', join(source, 'c'))
  await mirror.refresh()
  expect([mirror.state, mirror.reason]).toEqual(['over-limit', '1001 bytes, at most 1000'])
})

test('no more names are held than a source may have, however many levels it has', async () => {
  const { source, target, start } = fixture()
  const levels = ['', 'a', 'a/b', 'a/b/c']
  for (const at of levels) {
    await mkdir(join(source, at), { recursive: true })
    for (const name of ['x', 'y', 'z']) await writeFile(join(source, at, name), '')
  }
  const mirror = await start()
  const { names } = DirectoryHandle.prototype
  const asked: number[] = []
  const spy = vi.spyOn(DirectoryHandle.prototype, 'names')
  spy.mockImplementation(async function (this: DirectoryHandle, most?: number) {
    if (most !== undefined) asked.push(most)
    return await names.call(this, most)
  })
  onTestFinished(() => spy.mockRestore())
  await mirror.refresh()
  // Later calls look for a ..data in the source.
  expect(asked.slice(0, 4)).toEqual([0, 4, 8, 12].map((listed) => MAX_ENTRIES + 1 - listed))
  expect(await readdir(join(target, 'a/b/c'))).toEqual(['x', 'y', 'z'])
})
