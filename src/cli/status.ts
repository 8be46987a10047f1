import { EventEmitter } from 'node:events'

interface StatusEvents {
  /** Ready, or not any more. */
  ready: [ready: boolean]
}

/** How a command fares, from before it begins until after it has ended: what probes and metrics tell. */
export abstract class Status extends EventEmitter<StatusEvents> {
  #wasReady = false

  /** Why nobody should rely on it now; undefined if they can. */
  abstract get unready(): string | undefined

  /** To be called when something may be another. */
  protected told(): void {
    const ready = this.unready === undefined
    if (ready === this.#wasReady) return
    this.#wasReady = ready
    this.emit('ready', ready)
  }
}
