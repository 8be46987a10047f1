import type { WatchedMount } from '../tree/directory.ts'

/** The state of the polled mounts at a moment, told by the mounts' own counters: code that changes a belief, or loses a root, need not know of polls. */
export class PollStamp {
  readonly #mounts: ReadonlyArray<{ mount: WatchedMount; revision: number; epoch: number }>

  constructor(mounts: Iterable<WatchedMount>) {
    this.#mounts = [...mounts].map((mount) => ({ mount, revision: mount.revision, epoch: mount.epoch }))
  }

  /** Returns true if these are the same mounts, and listings since then may be compared with the beliefs. */
  isValid(mounts: readonly WatchedMount[]): boolean {
    if (mounts.length !== this.#mounts.length) return false
    return this.#mounts.every(({ mount, epoch }, i) => mount === mounts[i] && mount.epoch === epoch)
  }

  /** Returns true if besides, nothing is believed of them that was not believed then. */
  isCurrent(mounts: readonly WatchedMount[]): boolean {
    return this.isValid(mounts) && this.#mounts.every(({ mount, revision }) => mount.revision === revision)
  }
}
