import type { Mount } from './mountinfo.ts'

/** Whether a mount holds on to one file: not at all, to the present one, or to one that is gone. */
export type Pinned = 'no' | 'static' | 'stale'

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
): Pinned {
  if (mount.root.endsWith('//deleted')) return 'stale'
  if (!file.regular || mount.point !== realPath) return 'no'
  return file.links === 0n ? 'stale' : 'static'
}

/**
 * The kubelet's AtomicWriter mounts '..<timestamp>.<random>/<key>' for a subPath of a ConfigMap or Secret.
 */
export function isKubernetesSubPath(mount: Pick<Mount, 'root'>): boolean {
  return /\/\.\.\d{4}(_\d\d){5}\.\d+\//.test(mount.root)
}
