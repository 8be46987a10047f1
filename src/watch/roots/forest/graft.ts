import type { RecentScans } from '../../pending/recent_scans.ts'
import { type Directory, isWithin, WatchedMount } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import type { Root } from '../root.ts'

/** Puts a root's own tree, which was reported, in the place of the directory that the first listing of another root has found there. */
export function graft(tree: Tree, { top, mounts }: Root, found: Directory): void {
  const { parent, name, mount, stat } = found
  if (top === undefined || parent === undefined) return
  const isBase = mount.base === found
  const { mount: before } = top
  tree.drop(found)
  tree.regroup(top, mount)
  if (isBase) mount.base = top
  top.stat = stat
  tree.attach(top, parent, name)
  for (const each of [...mounts]) if (each !== before) each.join(mount)
}

/** Takes the directory at a root's path out of another root's tree: from now on it is the root's own tree. */
export function cut(tree: Tree, listed: RecentScans, root: Root, coverer: Root): void {
  const top = root.top as Directory
  const { mountId, limit } = top.mount
  const mount = new WatchedMount(top.mount, mountId)
  mount.base = top
  mount.limit = limit
  // The coverer has told of it until now.
  root.isOverflown = coverer.isOverflown
  root.consistentUntil = coverer.consistentUntil
  root.mount = mount
  for (const each of [...coverer.mounts]) {
    if (each.base !== undefined && each.base !== top && isWithin(each.base, top)) each.join(mount)
  }
  if (listed.has(top.mount)) listed.add(mount)
  tree.regroup(top, mount)
  tree.cut(top)
  tree.setLost(top, !root.isPresent)
  // No change reports a root's own stat.
  top.stat = undefined
  root.coverer = undefined
}
