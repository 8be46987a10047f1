import { topmost } from '../diff/rescan.ts'
import type { ScanOptions } from '../diff/snapshot/scanner.ts'
import type { Settings } from '../options.ts'
import type { FileRoots } from '../roots/file_roots.ts'
import type { RootForest } from '../roots/forest/root_forest.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { Root } from '../roots/root.ts'
import type { Rules } from '../rules.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { isAtomicLayout } from './atomic_writer.ts'

export interface PollScopeParts {
  tree: Tree
  forest: Pick<RootForest, 'standing'>
  files: Pick<FileRoots, 'arePolled'>
  links: Pick<FollowedLinks, 'arePolled'>
  mountedFiles: { readonly arePolled: boolean }
  settings: Pick<Settings, 'hash'>
  rules: Rules
}

/** How directories are asked for. */
export const POLL: ScanOptions = { isPoll: true }

/** What a poll of directories is about. */
export interface PolledDirectories {
  mounts: WatchedMount[]
  /** Where those of the mounts begin that are polled. */
  bases: Directory[]
  /** What is polled for want of a watch in those that are not. */
  leftover: Directory[]
}

/** What is polled, as it is believed to be at the moment: it changes nothing, and does not know when a poll is due. */
export class PollScope {
  readonly #parts: PollScopeParts

  constructor(parts: PollScopeParts) {
    this.#parts = parts
  }

  /** Whether what a walk does not tell again is as it was: what is not ignored is surveyed level by level, each time. */
  get compares(): boolean {
    const { rules } = this.#parts
    return !(rules.recursive && rules.hidesSome)
  }

  /** Whether something has to be polled, if only to see whether it is there. */
  isNeeded(): boolean {
    const { forest, links, mountedFiles } = this.#parts
    for (const root of forest.standing()) if (isSought(root) || isPolled(root)) return true
    return links.arePolled || mountedFiles.arePolled
  }

  /** Those that are there. */
  roots(): Root[] {
    return this.#parts.forest.standing().filter((root) => root.isPresent && isPolled(root))
  }

  /** The directories that are asked for, and their mounts. */
  directories(): PolledDirectories {
    const mounts = this.roots().flatMap((root) => [...root.mounts])
    return {
      mounts,
      bases: mounts.flatMap(({ usesPolling, base }) => (usesPolling && base !== undefined ? [base] : [])),
      leftover: mounts.flatMap(({ usesPolling, leftover }) => (usesPolling ? [] : topmost(leftover.keys()))),
    }
  }

  /** Whether a walk from the bases sees all that there is to be polled, and tells only what is not as it was. */
  isForWalkerAlone(): boolean {
    const { forest, files, links, mountedFiles } = this.#parts
    if (!this.compares || files.arePolled || links.arePolled || mountedFiles.arePolled) return false
    const { bases, leftover } = this.directories()
    return bases.length > 0 && leftover.length === 0 && !forest.standing().some(isSought)
  }

  /** Whether in most polls a directory's own stat is enough, while that is the same. What is read through is so since its times do not tell. */
  statsOnly(base: Directory): boolean {
    const { tree, files, settings } = this.#parts
    if (!this.compares || files.arePolled || (settings.hash && base.mount.usesPolling)) return false
    return isAtomicLayout(base, tree)
  }
}

/** Whether it is not there, and somebody has to look for it. */
export function isSought({ isPresent, isAwaited }: Root): boolean {
  return !isPresent && !isAwaited
}

/** Whether something of a root is polled. */
function isPolled({ mount, isAwaited }: Root): boolean {
  if (mount === undefined || isAwaited) return false
  if (mount.usesPolling || mount.leftover.size > 0) return true
  if (mount.family.size === 1) return false
  for (const { usesPolling, leftover } of mount.family) if (usesPolling || leftover.size > 0) return true
  return false
}
