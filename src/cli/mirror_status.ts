import type { Mirror, MirrorState } from '../mirror/mirror.ts'
import { Status } from './status.ts'

/** How a mirror fares. */
export class MirrorStatus extends Status {
  readonly #hold: boolean
  #mirror: Mirror | undefined
  #reason = ''
  /** Times that the target has changed since the first pass. */
  updates = 0
  errors = 0
  /** When it last changed, or the first pass was over; ms since the epoch, 0 before that. */
  changedAt = 0

  /** @param hold whether a source beyond the limits leaves the last version standing */
  constructor(hold: boolean) {
    super()
    this.#hold = hold
  }

  /** undefined: the first pass is not over. */
  get state(): MirrorState | undefined {
    return this.#mirror?.state
  }

  get skipped(): number {
    return this.#mirror?.skipped.length ?? 0
  }

  /** Why readers of the target should not rely on it now; undefined if they can. */
  get unready(): string | undefined {
    switch (this.state) {
      case undefined:
        return 'the first pass is not over'
      case 'closed':
        return 'it is ending'
      case 'source-lost':
        return `source-lost: ${this.#reason}`
      case 'over-limit':
        // Links go on showing the source; the last version gets older and older.
        if (this.#hold) return `over-limit: ${this.#reason}`
    }
    return this.#mirror?.errors[0]?.message
  }

  /** Called when the first pass is over. */
  follow(mirrored: Mirror): void {
    this.#mirror = mirrored
    this.changedAt = Date.now()
    mirrored.on('state', (_, reason) => {
      this.#reason = reason
      this.told()
    })
    mirrored.on('update', () => {
      this.updates++
      this.changedAt = Date.now()
    })
    mirrored.on('error', () => {
      this.errors++
    })
    mirrored.on('pass', () => this.told())
    this.told()
  }
}
