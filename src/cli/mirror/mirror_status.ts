import type { Mirror } from '../../mirror/mirror.ts'
import type { Metrics } from '../service/metrics.ts'
import type { Status } from '../service/service.ts'
import { lackingIn } from './start.ts'

const STATES = ['mirroring', 'over-limit', 'source-lost', 'closed'] as const

/** The state of a mirror, for probes and metrics. */
export class MirrorStatus implements Status {
  onTold?: () => void
  #mirror: Mirror | undefined
  readonly #sources: readonly string[]
  readonly #target: string
  #updates = 0
  #errors = 0
  /** When the target last changed, or the first pass was over; ms since the epoch, 0 before that. */
  #changedAt = 0

  constructor(sources: readonly string[], target: string) {
    this.#sources = sources
    this.#target = target
  }

  /** The reason why readers should not rely on the target now; undefined: they can. */
  get unready(): string | undefined {
    const mirrored = this.#mirror
    if (mirrored === undefined) return 'the first pass is not over'
    const { state, reason, isHeld, errors } = mirrored
    // Links go on showing a source that is over the limits; the last version gets older and older.
    if (state === 'source-lost' || (state === 'over-limit' && isHeld)) return `${state}: ${reason}`
    return errors[0]?.message ?? lackingIn(mirrored)
  }

  /** Called when the first pass is over. */
  follow(mirrored: Mirror): void {
    this.#mirror = mirrored
    this.#changedAt = Date.now()
    const told = () => this.onTold?.()
    mirrored.on('state', told)
    mirrored.on('update', () => {
      this.#updates++
      this.#changedAt = Date.now()
    })
    mirrored.on('error', () => {
      this.#errors++
      // The pass may be long in ending: of a target that has stopped answering, for one.
      told()
    })
    mirrored.on('pass', told)
    told()
  }

  metrics(): Metrics {
    const target = this.#target
    const { state, skipped = [] } = this.#mirror ?? {}
    return {
      info: ['What is mirrored.', this.#sources.map((source) => [{ source, target }, 1])],
      state: [
        '1 for the state it is in; none before the first pass is over.',
        STATES.map((each) => [{ state: each }, Number(each === state)]),
      ],
      ready: ['Whether readers of the target can rely on it.', Number(this.unready === undefined)],
      updates_total: ['Times the target has changed since the first pass.', this.#updates],
      errors_total: ['Conditions that kept the target from being written.', this.#errors],
      skipped: [
        'Entries of the source that are named as not in the target, at most 101 of each.',
        skipped.length,
      ],
      last_update_timestamp_seconds: [
        'When the target last changed, or the first pass was over; 0 before that.',
        this.#changedAt / 1000,
      ],
    }
  }
}
