import type { Mount } from '../mountinfo.ts'
import { asInside, processRoot } from './other_namespace.ts'

/**
 * The hold of a mount on one file: none, on the present one, or on one that is gone.
 * @inline
 */
export type SingleFileMount = 'no' | 'static' | 'stale'

/**
 * A bind mount is of an inode, not of a name: when the source is replaced by a rename (as the kubelet does at
 * every update of a ConfigMap) the mount keeps the old inode, and its watcher hears one IN_ATTRIB and nothing
 * ever again.
 *
 * Local filesystems then show '//deleted' behind the root; over virtiofs the kernel does not know, and only
 * the link count tells.
 */
export function pinnedBy(
  mount: Pick<Mount, 'point' | 'root'>,
  realPath: string,
  file: { regular: boolean; links: bigint },
): SingleFileMount {
  if (mount.root.endsWith('//deleted')) return 'stale'
  if (!file.regular || mount.point !== realPath) return 'no'
  return file.links === 0n ? 'stale' : 'static'
}

/** The origin of a single-file mount, as far as its root tells. */
export type Origin =
  | { readonly by: 'kubelet'; readonly volume: VolumeKind; readonly name: string; readonly key: string }
  | { readonly by: 'engine' }
  | { readonly by: 'someone' }

/** The volume's type as in a pod's manifest: `volumes: [{ configMap: ... }]`; 'other' is any type that the kubelet does not write. */
export type VolumeKind =
  | 'configMap'
  | 'secret'
  | 'projected'
  | 'downwardAPI'
  | 'secret or projected'
  | 'other'

/** A ConfigMap's or Secret's directory, as the kubelet's AtomicWriter names it. */
const TIMESTAMP = /^\.\.\d{4}(_\d\d){5}\.\w+$/

/** The files that container engines and the kubelet write in place, and mount into every container. */
const OF_THE_ENGINE = new Set(['/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/dev/termination-log'])

const PLUGINS: ReadonlyMap<string, VolumeKind> = new Map([
  ['kubernetes.io~configmap', 'configMap'],
  ['kubernetes.io~secret', 'secret'],
  ['kubernetes.io~projected', 'projected'],
  ['kubernetes.io~downward-api', 'downwardAPI'],
])

/**
 * The kubelet resolves a subPath once and mounts what it finds: of a ConfigMap '.../..<timestamp>/<key>' on the node's disk, of a
 * Secret the same on a tmpfs, whose root says no more.
 */
export function originOf({ root, point }: Pick<Mount, 'root' | 'point'>): Origin {
  if (OF_THE_ENGINE.has(asInside(point, processRoot(point)))) return { by: 'engine' }
  const parts = root.replace(/\/\/deleted$/, '').split('/')
  const at = parts.findIndex((part) => TIMESTAMP.test(part))
  const [, plugin, name = ''] = /\/pods\/[^/]+\/volumes\/([^/]+)\/([^/]+)\//.exec(root) ?? []
  if (plugin !== undefined) {
    const volume = PLUGINS.get(plugin) ?? 'other'
    const key = parts.slice(at < 0 ? parts.indexOf(plugin) + 2 : at + 1).join('/')
    return { by: 'kubelet', volume, name, key }
  }
  if (at < 0) return { by: 'someone' }
  return { by: 'kubelet', volume: 'secret or projected', name: '', key: parts.slice(at + 1).join('/') }
}

/** Returns true for a subPath mount of a pod. */
export function isKubernetesSubPath(mount: Pick<Mount, 'root' | 'point'>): boolean {
  return originOf(mount).by === 'kubelet'
}
