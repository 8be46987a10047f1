import type { Mirror } from '../../mirror/mirror.ts'
import type { Status } from '../service/service.ts'
import { lackingIn } from './start.ts'

const STATES = ['mirroring', 'over-limit', 'source-lost', 'closed'] as const

/** Returns the state of a mirror, for probes and metrics, and what is to be called when the first pass is over. */
export function mirrorStatus(
  sources: readonly string[],
  target: string,
): Status & { follow(mirrored: Mirror): void } {
  let followed: Mirror | undefined
  let [updates, errors] = [0, 0]
  // In ms since the epoch.
  let changedAt = 0

  return {
    /** The reason why readers should not rely on the target now. */
    get unready() {
      if (followed === undefined) return 'the first pass is not over'
      const { state, reason, isHeld, errors: lasting } = followed
      // Links go on showing a source that is over the limits; the last version gets older and older.
      if (state === 'source-lost' || (state === 'over-limit' && isHeld)) return `${state}: ${reason}`
      return lasting[0]?.message ?? lackingIn(followed)
    },

    follow(mirrored) {
      followed = mirrored
      changedAt = Date.now()
      const told = () => this.onTold?.()
      mirrored.on('update', () => {
        updates++
        changedAt = Date.now()
      })
      mirrored.on('error', () => void errors++)
      // Not the end of the pass alone, which may be long in coming: of a target that has stopped answering, for one.
      for (const event of ['state', 'error', 'pass'] as const) mirrored.on(event, told)
      told()
    },

    metrics() {
      const { state, skipped = [] } = followed ?? {}
      return {
        info: ['What is mirrored.', sources.map((source) => [{ source, target }, 1])],
        state: [
          '1 for the state it is in; none before the first pass is over.',
          STATES.map((each) => [{ state: each }, Number(each === state)]),
        ],
        ready: ['Whether readers of the target can rely on it.', Number(this.unready === undefined)],
        updates_total: ['Times the target has changed since the first pass.', updates],
        errors_total: ['Conditions that kept the target from being written.', errors],
        skipped: [
          'Entries of the source that are named as not in the target, at most 101 of each.',
          skipped.length,
        ],
        last_update_timestamp_seconds: [
          'When the target last changed, or the first pass was over; 0 before that.',
          changedAt / 1000,
        ],
      }
    },
  }
}
