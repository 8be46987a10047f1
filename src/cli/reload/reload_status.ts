import type { ReloadFailure } from '../../reload/failure.ts'
import type { Reloader } from '../../reload/reloader.ts'
import type { Metrics } from '../service/metrics.ts'
import type { Status } from '../service/service.ts'

const STAGES = ['validate', 'action'] as const

/** The state of a reloader, for probes and metrics. */
export class ReloadStatus implements Status {
  readonly #paths: readonly string[]
  #reloader: Reloader | undefined
  #isKnown = false
  #reloads = 0
  readonly #failures: Record<ReloadFailure['stage'], number> = { validate: 0, action: 0 }
  #errors = 0
  /** The time of the last reload in ms since the epoch; 0 before that. */
  #reloadedAt = 0

  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /** Returns why the present content is not in use, as far as is known; undefined if it is. */
  get unready(): string | undefined {
    const { failing, trouble } = this.#reloader ?? {}
    if (trouble !== undefined) return trouble.message
    if (!this.#isKnown) return 'the first look is not over'
    return failing && `${failing.stage} failed: ${failing.reason}`
  }

  follow(reloader: Reloader): void {
    this.#reloader = reloader
    reloader.on('reload', () => {
      this.#reloads++
      this.#reloadedAt = Date.now()
    })
    reloader.on('failed', ({ stage }) => {
      this.#failures[stage]++
    })
    reloader.on('error', () => {
      this.#errors++
    })
    reloader.on('look', () => {
      this.#isKnown = true
    })
  }

  metrics(): Metrics {
    const failing = this.#reloader?.failing
    const byStage = (value: (stage: (typeof STAGES)[number]) => number) =>
      STAGES.map((stage) => [{ stage }, value(stage)] as const)
    return {
      info: ['What is looked at.', this.#paths.map((path) => [{ path }, 1])],
      ready: ['Whether the content that is there is in use.', Number(this.unready === undefined)],
      failing: [
        '1 for what the content that is there fails in.',
        byStage((stage) => Number(failing?.stage === stage)),
      ],
      reloads_total: ['Times that what was to be done was done.', this.#reloads],
      failures_total: ['Times that it was tried in vain.', byStage((stage) => this.#failures[stage])],
      errors_total: ['Conditions that kept the content from being known or watched.', this.#errors],
      last_reload_timestamp_seconds: [
        'When what was to be done was last done; 0 before that.',
        this.#reloadedAt / 1000,
      ],
    }
  }
}
