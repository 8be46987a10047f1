import type { WatchedMount } from '../tree/directory.ts'

/**
 * What the polled mounts were at a moment. Told by their own counters, so that whoever changes what is believed, or loses a root, need not know
 * that there are polls.
 */
export class PollStamp {
  readonly #mounts: ReadonlyArray<{ mount: WatchedMount; revision: number; epoch: number }>

  constructor(mounts: Iterable<WatchedMount>) {
    this.#mounts = [...mounts].map((mount) => ({ mount, revision: mount.revision, epoch: mount.epoch }))
  }

  /** Whether these are the same mounts, and what was listed since then may be held against what is believed. */
  isValid(mounts: readonly WatchedMount[]): boolean {
    if (mounts.length !== this.#mounts.length) return false
    return this.#mounts.every(({ mount, epoch }, i) => mount === mounts[i] && mount.epoch === epoch)
  }

  /** Whether besides, nothing is believed of them that was not believed then. */
  isCurrent(mounts: readonly WatchedMount[]): boolean {
    return this.isValid(mounts) && this.#mounts.every(({ mount, revision }) => mount.revision === revision)
  }
}
