import { expect, it } from 'vitest'
import { isKubernetesSubPath, originOf, pinnedBy } from '../../src/mounts/diagnosis/single_file_mount.ts'
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

it.each([
  [
    '/var/lib/kubelet/pods/u/volumes/kubernetes.io~configmap/c/..2024_05_17_09_12_44.12/a/b',
    'configMap',
    'c',
    'a/b',
  ],
  // /var is a file system of its own.
  [
    '/lib/kubelet/pods/u/volumes/kubernetes.io~projected/p/..2024_05_17_09_12_44.12/k//deleted',
    'projected',
    'p',
    'k',
  ],
  ['/pods/u/volumes/kubernetes.io~csi/pvc-1/mount/sub/file', 'other', 'pvc-1', 'mount/sub/file'],
  // A volume may have the name of a directory on the way.
  ['/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/lib/file', 'other', 'lib', 'file'],
  ['/..2024_05_17_09_12_44.3141592653/tls.key', 'secret or projected', '', 'tls.key'],
])('of the root %s: a %s volume', (root, volume, name, key) => {
  expect(originOf({ root, point: '/x' })).toEqual({ by: 'kubelet', volume, name, key })
})

it("a container engine's files are its own; a file like any other is anyone's", () => {
  expect(originOf({ root: '/docker/containers/77/hosts', point: '/etc/hosts' })).toEqual({ by: 'engine' })
  expect(originOf({ root: '/srv/..2024/hosts', point: '/srv/hosts' })).toEqual({ by: 'someone' })
})
