import type { ReloadFailure } from '../../reload/apply_state.ts'
import type { Reloader } from '../../reload/reloader.ts'
import type { Status } from '../service/service.ts'

const STAGES = ['validate', 'action'] as const

/** Returns the state of a reloader, for probes and metrics, and what is to be called when there is one. */
export function reloadStatus(paths: readonly string[]): Status & { follow(reloader: Reloader): void } {
  let followed: Reloader | undefined
  let [isKnown, reloads, errors] = [false, 0, 0]
  // In ms since the epoch.
  let reloadedAt = 0
  const failures: Record<ReloadFailure['stage'], number> = { validate: 0, action: 0 }
  const byStage = (value: (stage: ReloadFailure['stage']) => number) =>
    STAGES.map((stage) => [{ stage }, value(stage)] as const)

  return {
    /** The reason why the present content is not in use, as far as is known. */
    get unready() {
      const { failing, trouble } = followed ?? {}
      if (trouble !== undefined) return trouble.message
      if (!isKnown) return 'the first look is not over'
      return failing && `${failing.stage} failed: ${failing.reason}`
    },

    follow(reloader) {
      followed = reloader
      reloader.on('reload', () => {
        reloads++
        reloadedAt = Date.now()
      })
      reloader.on('failed', ({ stage }) => void failures[stage]++)
      reloader.on('error', () => void errors++)
      reloader.on('look', () => {
        isKnown = true
      })
    },

    metrics() {
      const failing = followed?.failing
      return {
        info: ['What is looked at.', paths.map((path) => [{ path }, 1])],
        ready: ['Whether the content that is there is in use.', Number(this.unready === undefined)],
        failing: [
          '1 for what the content that is there fails in.',
          byStage((stage) => Number(failing?.stage === stage)),
        ],
        reloads_total: ['Times that what was to be done was done.', reloads],
        failures_total: ['Times that it was tried in vain.', byStage((stage) => failures[stage])],
        errors_total: ['Conditions that kept the content from being known or watched.', errors],
        last_reload_timestamp_seconds: [
          'When what was to be done was last done; 0 before that.',
          reloadedAt / 1000,
        ],
      }
    },
  }
}
