import { constants } from 'node:os'
import { InotifyError } from '../../errors.ts'
import { addHint } from '../../inotify/limits.ts'
import { TOO_DEEP } from '../report/watch_error.ts'
import type { Listing } from '../scan/listing.ts'
import { type Directory, isUnwatched } from './directory.ts'
import type { Tree } from './tree.ts'

const { EACCES, ENOSPC, ENOMEM } = constants.errno

/** Notes of each directory that was listed its watch, or why it has none. */
export class WatchStatus {
  readonly #tree: Tree
  readonly #pollInstead: boolean
  readonly #startedAt: number
  /** The first error for want of something that was not known yet. */
  shortage: InotifyError | undefined
  /** The first error for want of a watch. */
  outOfWatches: InotifyError | undefined
  /** Whether a directory has got a watch that had none. */
  hasAdded = false
  /** Why a directory could not be listed though nothing is wrong with it: want of descriptors or memory. */
  unlisted: InotifyError | undefined

  /**
   * @param pollInstead where no watch is to be had, a poll does
   * @param startedAt ms since the epoch: when the scan began
   */
  constructor(tree: Tree, pollInstead: boolean, startedAt: number) {
    this.#tree = tree
    this.#startedAt = startedAt
    this.#pollInstead = pollInstead
  }

  cover(directory: Directory, listing: Listing): void {
    const { wd } = listing
    const { mount } = directory
    if (wd > 0 && directory.wd === 0) this.hasAdded = true
    if (wd > 0) this.#tree.setWatch(directory, wd)
    else if ((wd < 0 && !keepsWatch(directory, listing)) || listing.isTooDeep)
      this.#tree.clearWatch(directory)
    const errno = wd < 0 ? wd : listing.error
    if (errno === 0) {
      if (wd > 0 || !mount.usesInotify) mount.cover(directory)
      if (wd > 0) mount.leftover.delete(directory)
      // Found by a poll, which adds no watch: until it has one, or if there is none to be had, polls tell what is written in there.
      else if (isUnwatched(directory) && !mount.usesPolling) this.#poll(directory)
      return
    }
    const path = this.#tree.pathOf(directory)
    const syscall = wd < 0 ? 'inotify_add_watch' : 'open'
    const hint = listing.isTooDeep ? TOO_DEEP : addHint(-errno)
    const error = new InotifyError({ errno: -errno, syscall, path, hint })
    const isNews = !mount.uncovered.has(directory)
    mount.uncover(directory, error)
    const isOutOfWatches = wd < 0 && (errno === -ENOSPC || errno === -ENOMEM)
    if (isNews && (listing.isShort || listing.isTooDeep)) this.shortage ??= error
    if (isNews && isOutOfWatches) this.outOfWatches ??= error
    if (isOutOfWatches) this.#poll(directory)
    if (listing.isShort) this.unlisted ??= error
  }

  #poll(directory: Directory): void {
    const { leftover } = directory.mount
    if (this.#pollInstead && !leftover.has(directory)) leftover.set(directory, this.#startedAt)
  }
}

/** A directory must be readable when a watch is added, and again for the same one; not for the one that it has to go on (inotify(7)). */
function keepsWatch(directory: Directory, { wd, ino }: Listing): boolean {
  return wd === -EACCES && directory.ino === ino
}
