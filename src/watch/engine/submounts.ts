import { isWithin } from '../../mounts/mountinfo.ts'
import type { Pending } from '../pending/pending.ts'
import type { RootForest } from '../roots/forest/root_forest.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { Root } from '../roots/root.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import type { MountedFiles } from './mounted_files.ts'

export interface SubmountsParts {
  tree: Tree
  pending: Pick<Pending, 'work'>
  rootMonitor: Pick<RootMonitor, 'onMounts'>
  links: Pick<FollowedLinks, 'onMounts' | 'ends'>
  forest: Pick<RootForest, 'standing'>
  mountedFiles: Pick<MountedFiles, 'onMounts' | 'review'>
  /** Roots by their paths. */
  byPath: ReadonlyMap<string, Root>
}

/** Follows mounts that come and go at roots, below them, and where links lead: the mount table tells of them, and no event does. */
export class Submounts {
  readonly #parts: SubmountsParts
  readonly #editor: TreeEditor

  constructor(parts: SubmountsParts) {
    this.#parts = parts
    this.#editor = new TreeEditor(parts.tree, 'rescan')
  }

  /** Looks at what is at these mount points now. */
  async look(points: readonly string[]): Promise<void> {
    const { rootMonitor, links, forest, mountedFiles } = this.#parts
    await rootMonitor.onMounts(points)
    for (const { isPresent, top, realPath } of forest.standing())
      if (isPresent && top !== undefined) this.#lookBelow(top, realPath, points)
    for (const { base, realPath } of links.ends()) this.#lookBelow(base, realPath, points)
    links.onMounts(points)
    mountedFiles.onMounts()
    // Watched before it is looked at: a write between the two would be in neither.
    await mountedFiles.review()
  }

  /** @param realPath the path of the top without symlinks, as the mount table has it */
  #lookBelow(top: Directory, realPath: string, points: readonly string[]): void {
    for (const point of points) if (isWithin(point, realPath)) this.#lookAt(top, realPath, point)
  }

  #lookAt(top: Directory, realPath: string, point: string): void {
    const { tree, pending, byPath } = this.#parts
    const { work } = pending
    const names = point.slice(realPath.length).split('/').filter(Boolean)
    const name = names.pop()
    const parent = tree.find(top, names)
    if (name === undefined || parent === undefined) return
    const wasRefused = parent.mount.allow(parent, name)
    const entry = tree.entriesOf(parent).get(name)
    if (entry instanceof Directory) work.list(entry)
    else if (wasRefused && entry?.kind === 'directory')
      work.list(this.#editor.goInto(parent, name, parent.mount))
    // A file is mounted over the name, or is not any more. A file that is a root tells of itself.
    else if (entry !== undefined && !byPath.has(tree.pathOf(parent, name))) work.look(parent, name)
  }
}
