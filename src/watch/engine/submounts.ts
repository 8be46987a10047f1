import { isWithin } from '../../mounts/mountinfo.ts'
import type { EventHandler } from '../events/event_handler.ts'
import type { Pending } from '../pending/pending.ts'
import type { Root } from '../roots/root.ts'
import type { RootForest } from '../roots/root_forest.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

export interface SubmountsParts {
  tree: Tree
  pending: Pick<Pending, 'work'>
  events: Pick<EventHandler, 'list'>
  rootMonitor: Pick<RootMonitor, 'checkIdentity'>
  forest: Pick<RootForest, 'standing'>
}

/** Mounts that come and go at roots, and below them: of which the mount table tells, and no event. */
export class Submounts {
  readonly #parts: SubmountsParts

  constructor(parts: SubmountsParts) {
    this.#parts = parts
  }

  /** Looks at what is at these mount points now. */
  async look(points: readonly string[]): Promise<void> {
    const { rootMonitor, events, forest } = this.#parts
    // Another directory may be at the path of a root.
    await rootMonitor.checkIdentity()
    for (const root of forest.standing()) for (const point of points) this.#lookBelow(root, point)
    await events.list()
  }

  #lookBelow({ isPresent, top, realPath }: Root, point: string): void {
    const { tree, pending } = this.#parts
    const { work } = pending
    if (!isPresent || top === undefined || !isWithin(point, realPath)) return
    const names = point.slice(realPath.length).split('/').filter(Boolean)
    const name = names.pop()
    const parent = tree.find(top, names)
    if (name === undefined || parent === undefined) return
    const wasRefused = parent.mount.allow(parent, name)
    const entries = tree.entriesOf(parent)
    const entry = entries.get(name)
    if (entry instanceof Directory) work.list(entry)
    else if (wasRefused && entry?.kind === 'directory') {
      // Until now it was a directory that is not gone into.
      entries.delete(name)
      work.list(tree.add(parent, name, 0, parent.mount))
    }
  }
}
