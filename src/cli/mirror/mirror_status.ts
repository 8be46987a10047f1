import type { MirrorState } from '../../mirror/events.ts'
import type { Mirror } from '../../mirror/mirror.ts'
import { Status } from '../service/status.ts'
import { lackingIn } from './complete.ts'

/** The state of a mirror, for probes and metrics. */
export class MirrorStatus extends Status {
  #mirror: Mirror | undefined
  /** Times that the target has changed since the first pass. */
  updates = 0
  errors = 0
  /** When it last changed, or the first pass was over; ms since the epoch, 0 before that. */
  changedAt = 0

  /** undefined: the first pass is not over. */
  get state(): MirrorState | undefined {
    return this.#mirror?.state
  }

  get skipped(): number {
    return this.#mirror?.skipped.length ?? 0
  }

  /** The reason why readers should not rely on the target now; undefined: they can. */
  get unready(): string | undefined {
    const mirrored = this.#mirror
    switch (mirrored?.state) {
      case undefined:
        return 'the first pass is not over'
      case 'closed':
        return 'it is ending'
      case 'source-lost':
        return `source-lost: ${mirrored?.reason}`
      case 'over-limit':
        // Links go on showing the source; the last version gets older and older.
        if (mirrored?.isHeld) return `over-limit: ${mirrored.reason}`
    }
    return mirrored && (mirrored.errors[0]?.message ?? lackingIn(mirrored))
  }

  /** Called when the first pass is over. */
  follow(mirrored: Mirror): void {
    this.#mirror = mirrored
    this.changedAt = Date.now()
    mirrored.on('state', () => this.told())
    mirrored.on('update', () => {
      this.updates++
      this.changedAt = Date.now()
    })
    mirrored.on('error', () => {
      this.errors++
      // The pass may be long in ending: of a target that has stopped answering, for one.
      this.told()
    })
    mirrored.on('pass', () => this.told())
    this.told()
  }
}
