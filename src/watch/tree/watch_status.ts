import { constants } from 'node:os'
import { InotifyError } from '../../errors.ts'
import { addHint, openHint } from '../../inotify/limits.ts'
import { textOf } from '../../name_key.ts'
import { mayPass, TOO_DEEP } from '../report/watch_error.ts'
import type { Listing } from '../scan/listing.ts'
import { type Directory, isUnwatched } from './directory.ts'
import type { Tree } from './tree.ts'
import type { WatchLimit } from './watch_limit.ts'

const { EACCES, ENOSPC, ENOMEM } = constants.errno

/** Notes of each listed directory its watch, or why it has none. */
export class WatchStatus {
  readonly #tree: Tree
  readonly #pollInstead: boolean
  readonly #limit: WatchLimit | undefined
  /** The first new error that is not the directory's own affair. */
  trouble: InotifyError | undefined
  /** The first error for want of a watch. */
  outOfWatches: InotifyError | undefined
  /** True: a directory without a watch has got one. */
  hasAdded = false
  /** The reason why a sound directory could not be listed: want of descriptors or memory. */
  unlisted: InotifyError | undefined

  /** @param pollInstead true: directories that cannot get a watch are polled */
  constructor(tree: Tree, pollInstead: boolean, limit: WatchLimit | undefined) {
    this.#limit = limit
    this.#tree = tree
    this.#pollInstead = pollInstead
  }

  /** Notes, before its entries are taken in, that a new directory will be polled for want of a watch: so their stats are kept. `listedAt`: ms since the epoch. */
  expect(directory: Directory, listing: Listing, listedAt: number): void {
    if (this.#pollInstead && !directory.isListed && this.#isOver(directory, listing))
      this.#poll(directory, listedAt)
  }

  #isOver(directory: Directory, { wd, error }: Listing): boolean {
    return wd === 0 && error === 0 && isUnwatched(directory) && this.#limit?.isFull === true
  }

  /**
   * Notes the outcome of a listing. Returns true if it has failed, and the directory may become listable, or watchable, by itself.
   *
   * @param toldUntil ms since the epoch: what was written in the directory before has been told
   */
  cover(directory: Directory, listing: Listing, toldUntil: number): boolean {
    const { mount } = directory
    const isOver = this.#isOver(directory, listing)
    const wd = isOver ? -ENOSPC : listing.wd
    if (wd > 0 && directory.wd === 0) {
      this.hasAdded = true
      this.#limit?.take()
    }
    if (wd > 0) this.#tree.setWatch(directory, wd)
    else if ((wd < 0 && !keepsWatch(directory, listing)) || listing.isTooDeep)
      this.#tree.clearWatch(directory)
    const errno = wd < 0 ? wd : listing.error
    if (errno === 0) {
      if (wd > 0 || !mount.usesInotify) mount.cover(directory)
      if (wd > 0) mount.leftover.delete(directory)
      // A poll found it, and adds no watch: until there is one, or if none is to be had, polls tell of writes in there.
      else if (this.#pollInstead && isUnwatched(directory) && !mount.usesPolling)
        this.#poll(directory, toldUntil)
      return false
    }
    const path = textOf(this.#tree.pathOf(directory))
    const notListed = () => {
      const hint = listing.isTooDeep ? TOO_DEEP : openHint(-listing.error)
      return new InotifyError({ errno: -listing.error, syscall: 'open', path, hint })
    }
    const notWatched = () =>
      new InotifyError({ errno: -wd, syscall: 'inotify_add_watch', path, hint: addHint(-wd) })
    const overLimit = isOver ? this.#limit?.errorOf(directory) : undefined
    const error = overLimit ?? (wd < 0 ? notWatched() : notListed())
    const isNews = !mount.uncovered.has(directory)
    mount.uncover(directory, error)
    const isOutOfWatches = wd < 0 && (errno === -ENOSPC || errno === -ENOMEM)
    // A directory that can be listed may be read: then only the watch is refused, by SELinux for one.
    const isWatchRefused = wd === -EACCES && listing.error === 0 && directory.wd === 0
    const isPolled = (isOutOfWatches || isWatchRefused) && this.#pollInstead
    // A poll tries again by itself, but adds no watch.
    const hasFailed = mayPass(-errno) && !listing.isGone && !isPolled && mount.usesInotify
    if (isNews && (listing.isTooDeep || (hasFailed && !isOutOfWatches))) this.trouble ??= error
    if (isNews && isOutOfWatches) this.outOfWatches ??= error
    if (isPolled) this.#poll(directory, toldUntil)
    // There may be no watch left either, which is another error.
    if (listing.isShort) this.unlisted ??= notListed()
    return hasFailed
  }

  #poll(directory: Directory, toldUntil: number): void {
    const { leftover } = directory.mount
    if (!leftover.has(directory)) leftover.set(directory, toldUntil)
  }
}

/** Returns true if a refused watch goes on. The kernel checks read permission when a watch is added or changed (inotify(7)), not while it goes on. */
function keepsWatch(directory: Directory, { wd, ino }: Listing): boolean {
  return wd === -EACCES && directory.ino === ino
}
