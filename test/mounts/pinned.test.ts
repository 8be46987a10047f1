import { expect, it } from 'vitest'
import { isKubernetesSubPath, pinnedBy } from '../../src/mounts/pinned.ts'
import { recorded } from './fixture.ts'

const file = { regular: true, links: 1n }

it.each([
  ['subpath', '/etc/app/app.yaml', 'static', true],
  ['subpath', '/etc/app/old.yaml', 'stale', true],
  ['subpath', '/etc/tls/tls.key', 'static', true],
  ['subpath', '/etc/tls/tls.crt', 'stale', true],
  ['subpath', '/etc/whole/app.yaml', 'no', false],
  ['subpath', '/etc/app/other', 'no', false],
  ['docker', '/etc/hosts', 'static', false],
])('%s: %s is %s, of Kubernetes: %s', (name, path, pinned, kubernetes) => {
  const mount = recorded(name, path)
  expect(pinnedBy(mount, path, file)).toBe(pinned)
  expect(isKubernetesSubPath(mount)).toBe(kubernetes)
})

it('is not pinned when the mount point is a directory', () => {
  expect(pinnedBy(recorded('subpath', '/etc/whole'), '/etc/whole', { regular: false, links: 3n })).toBe('no')
})

it('is stale by the link count alone where the kernel is not told of the deletion (virtiofs)', () => {
  const mount = recorded('kata_guest', '/etc/hosts')
  expect(pinnedBy(mount, '/etc/hosts', file)).toBe('static')
  expect(pinnedBy(mount, '/etc/hosts', { regular: true, links: 0n })).toBe('stale')
})

it('is stale beneath a directory mount whose source is gone', () => {
  const mount = { point: '/data', root: '/srv/data//deleted' }
  expect(pinnedBy(mount, '/data/file', file)).toBe('stale')
})
