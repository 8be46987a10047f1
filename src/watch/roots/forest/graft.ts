import type { RecentScans } from '../../pending/recent_scans.ts'
import { type Directory, isWithin, WatchedMount } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import type { Root } from '../root.ts'

/** A root's own tree, which has told, takes the place of what the first listing of another has found there. */
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

/** What another root's tree has at a root's path is its own tree from now on. */
export function cut(tree: Tree, listed: RecentScans, root: Root, coverer: Root): void {
  const top = root.top as Directory
  const { backend, why, mountId, limit } = top.mount
  const mount = new WatchedMount(backend, why, mountId)
  mount.base = top
  mount.limit = limit
  mount.anyCase = top.mount.anyCase
  root.succeed(coverer)
  root.mount = mount
  for (const each of [...coverer.mounts]) {
    if (each.base !== undefined && each.base !== top && isWithin(each.base, top)) each.join(mount)
  }
  if (listed.has(top.mount)) listed.add(mount)
  tree.regroup(top, mount)
  tree.cut(top)
  tree.setLost(top, !root.isPresent)
  // A root's own stat is nobody's to tell of.
  top.stat = undefined
  root.coverer = undefined
}
