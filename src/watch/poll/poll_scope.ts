import { topmost } from '../diff/rescan.ts'
import type { ScanOptions } from '../diff/snapshot/scanner.ts'
import { isSought, type Root } from '../roots/root.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import { isAtomicLayout } from './atomic_writer.ts'
import type { PollContext } from './context.ts'

/** The options by which polls list directories. */
export const POLL: ScanOptions = { isPoll: true }

/** The directories that a poll is about. */
export interface PolledDirectories {
  mounts: WatchedMount[]
  /** The bases of the mounts that are polled. */
  bases: Directory[]
  /** The directories polled for want of a watch, on mounts that are not polled. */
  leftover: Directory[]
}

/** Tells what is polled, by the beliefs of the moment. It changes nothing, and does not know when a poll is due. */
export class PollScope {
  readonly #context: PollContext

  constructor(context: PollContext) {
    this.#context = context
  }

  /** True: what a walk does not tell again is as it was. A recursive walk with ignores or a depth surveys level by level each time. */
  get compares(): boolean {
    const { rules } = this.#context
    return !(rules.recursive && rules.hidesSome)
  }

  /** Returns true if something has to be polled, if only to see whether it is there. */
  isNeeded(): boolean {
    const { forest, links } = this.#context
    for (const root of forest.standing()) if (isSought(root) || isPolled(root)) return true
    return links.arePolled
  }

  /** Returns the present roots of which something is polled. */
  roots(): Root[] {
    return this.#context.forest.standing().filter((root) => root.isPresent && isPolled(root))
  }

  /** Returns the mounts of these roots. It does not go through the leftovers, as there may be as many as directories. */
  mounts(): WatchedMount[] {
    return this.roots().flatMap((root) => [...root.mounts])
  }

  /** Returns the directories that are asked for, and their mounts. */
  directories(): PolledDirectories {
    const mounts = this.mounts()
    return {
      mounts,
      bases: mounts.flatMap(({ usesPolling, base }) => (usesPolling && base !== undefined ? [base] : [])),
      leftover: mounts.flatMap(({ usesPolling, leftover }) => (usesPolling ? [] : topmost(leftover.keys()))),
    }
  }

  /** Yields each directory that is asked for, and each below that is known. */
  *each(): Generator<Directory> {
    for (const { base, usesPolling, leftover } of this.mounts()) {
      if (!usesPolling) yield* leftover.keys()
      else if (base !== undefined)
        for (const each of this.#context.tree.within(base)) if (each.mount === base.mount) yield each
    }
  }

  /** Returns true if a walk from the bases sees all that is to be polled, and tells only what has changed. */
  isForWalkerAlone(): boolean {
    return this.compares && this.#allBases().length > 0
  }

  /** Returns true if nothing is polled but the mount that this root lies on. */
  isNoneBut(root: Root): boolean {
    const bases = this.#allBases()
    return bases.length === 1 && bases[0] === root.top
  }

  /** Returns the bases, if nothing is to be polled but what lies below them; else none. */
  #allBases(): Directory[] {
    const { forest, files, links } = this.#context
    if (files.arePolled || links.arePolled) return []
    const { bases, leftover } = this.directories()
    return leftover.length > 0 || forest.standing().some(isSought) ? [] : bases
  }

  /** Returns true if the directory's own stat is enough for most polls, while unchanged. Not if contents are read: their times do not tell. */
  statsOnly(base: Directory): boolean {
    const { tree, files, settings } = this.#context
    if (!this.compares || files.arePolled || (settings.hash && base.mount.usesPolling)) return false
    return isAtomicLayout(base, tree)
  }
}

/** Returns true if something of a root is polled. */
function isPolled({ mount, isAwaited }: Root): boolean {
  if (mount === undefined || isAwaited) return false
  if (mount.usesPolling || mount.leftover.size > 0) return true
  if (mount.family.size === 1) return false
  for (const { usesPolling, leftover } of mount.family) if (usesPolling || leftover.size > 0) return true
  return false
}
