import { type Contents, differingKeys, shownKeys } from './contents.ts'
import type { ReloadFailure } from './failure.ts'

/**
 * What to do about the content that was found: nothing; act, for it is not what the action was last done for; or say that what failed is
 * no more, for the last good content is back and was never replaced.
 */
export type Verdict = 'rest' | 'act' | 'recover'

/** Remembers what the action was done for, and what failed since. Knows no file system and no time. */
export class ApplyState {
  #applied: Contents | undefined
  // Keys of content for which the action was tried in vain: half of it may have come to be used.
  readonly #tried = new Set<string>()
  #isTainted = false
  #failing: ReloadFailure | undefined
  // The digest of what failed.
  #failed = ''

  /** @param baseline what is in use already; undefined: nothing is */
  constructor(baseline: Contents | undefined) {
    this.#applied = baseline
  }

  /** What is in use, as far as it is known. */
  get applied(): Contents | undefined {
    return this.#applied
  }

  /** What keeps the content that there is now from being used. */
  get failing(): ReloadFailure | undefined {
    return this.#failing
  }

  /** @param isDue whether the same content may be tried again by now */
  judge(now: Contents, isDue = true): Verdict {
    if (!isDue && this.#failing !== undefined && this.#failed === now.digest) return 'rest'
    if (this.#isTainted || this.#applied?.digest !== now.digest) return 'act'
    return this.#failing === undefined ? 'rest' : 'recover'
  }

  failed(now: Contents, failure: ReloadFailure): void {
    this.#failing = failure
    this.#failed = now.digest
    if (failure.stage !== 'action') return
    // Whatever is in use now, it is not known to be what was in use before: to go back to that is a reload as well.
    this.#isTainted = true
    for (const key of differingKeys(this.#applied, now)) this.#tried.add(key)
    // What neither has is of no interest to those who use either; kept, other names at each failure would be without end.
    for (const key of this.#tried)
      if (!now.keys.has(key) && !this.#applied?.keys.has(key)) this.#tried.delete(key)
  }

  /** The keys that differ from what was in use, or may have been since. */
  succeeded(now: Contents): string[] {
    const changed = shownKeys([...this.#tried, ...differingKeys(this.#applied, now)])
    this.#applied = now
    this.#isTainted = false
    this.#tried.clear()
    this.#failing = undefined
    return changed
  }

  /** The last good content is back. */
  recovered(): void {
    this.#failing = undefined
  }
}
