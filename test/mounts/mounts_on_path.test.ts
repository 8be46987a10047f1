import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Mount } from '../../src/mounts/mountinfo.ts'
import { chooseAmong, chooseForPath, mountsOnPath } from '../../src/mounts/mounts_on_path.ts'
import { scratch } from '../support/scratch.ts'

const mount = (id: number, type: string): Mount => ({
  id,
  point: `/${id}`,
  root: '/',
  type,
  source: type,
  options: [],
})

test.each([
  [['ext4'], 'inotify', 'ext4'],
  [['ext4', 'tmpfs'], 'inotify', 'ext4'],
  [['virtiofs', 'ext4'], 'inotify+poll', 'virtiofs'],
  [['ext4', 'virtiofs', 'tmpfs'], 'inotify+poll', 'virtiofs'],
  [['virtiofs', 'proc', 'ext4'], 'poll', 'proc'],
])('of %j the most that one needs: %s, because of %s', (types, backend, because) => {
  const chosen = chooseAmong(types.map((type, i) => mount(i, type)))
  expect(chosen.backend).toBe(backend)
  expect(chosen.why).toMatch(new RegExp(`^${because}: `))
})

test('a link on a silent mount makes the path silent, wherever it leads', async () => {
  const directory = scratch()
  mkdirSync(join(directory, 'real'))
  symlinkSync('real', join(directory, 'link'))
  // The lookup takes the link's own directory for virtiofs, the real directory for ext4.
  const lookup = (path: string) => (path === directory ? mount(1, 'virtiofs') : mount(2, 'ext4'))
  const crossed = await mountsOnPath(join(directory, 'link'), lookup)
  expect(crossed.hops.map(({ type }) => type)).toEqual(['virtiofs'])
  expect(crossed.mount.type).toBe('ext4')
  expect(chooseAmong(crossed.all).backend).toBe('inotify+poll')
})

test('a live path', async () => {
  expect(await chooseForPath('/proc')).toMatchObject({ backend: 'poll' })
  await expect(chooseForPath('/no/such')).rejects.toMatchObject({ code: 'ENOENT', syscall: 'statx' })
})
