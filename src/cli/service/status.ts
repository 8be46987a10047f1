import { EventEmitter } from 'node:events'
import type { Metrics } from './metrics.ts'

interface StatusEvents {
  /** Ready, or not: each time that it may be another, or that it is seen to be the same still. */
  told: [ready: boolean]
}

/** The state of a command, from before it begins until after it has ended, for probes and metrics. */
export abstract class Status extends EventEmitter<StatusEvents> {
  /** The reason not to rely on it now; undefined: callers can rely on it. */
  abstract get unready(): string | undefined

  abstract metrics(): Metrics

  /** To be called when something may be another. */
  protected told(): void {
    this.emit('told', this.unready === undefined)
  }
}
