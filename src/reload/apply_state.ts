import { type Contents, differing, shownKeys } from './contents.ts'

/** A failed validation or action, with the output of the program or the answer of the server. */
export interface ReloadFailure {
  /** The step that failed. */
  stage: 'validate' | 'action'
  /** One sentence, with the fix where it is known. */
  reason: string
  /** The end of the output, or the beginning of the answer: 64 KiB at most. */
  output: string
}

/** Remembers the content for which the action was done, and the failures since. Knows no file system and no time. */
export class ApplyState {
  /** The content in use, as far as it is known. */
  applied: Contents | undefined
  /** The failure that keeps the present content out of use. */
  failing: ReloadFailure | undefined
  // The digest of the content that failed.
  #failed = ''
  // Keys of content for which the action has failed since: half of that content may have come into use.
  #tried: Set<string> | undefined

  /** @param baseline the content in use; undefined: none is */
  constructor(baseline: Contents | undefined) {
    this.applied = baseline
  }

  /**
   * Returns the reaction to the content that was found: 'rest' does nothing; 'act' as the action was last done for other content; 'recover' tells
   * that a failure is over, as the last good content is back and was never replaced.
   *
   * @param isDue true: the same content may be tried again by now
   */
  judge(now: Contents, isDue = true): 'rest' | 'act' | 'recover' {
    if (!isDue && this.failing !== undefined && this.#failed === now.digest) return 'rest'
    if (this.#tried !== undefined || this.applied?.digest !== now.digest) return 'act'
    const verdict = this.failing === undefined ? 'rest' : 'recover'
    this.failing = undefined
    return verdict
  }

  failed(now: Contents, failure: ReloadFailure): void {
    this.failing = failure
    this.#failed = now.digest
    if (failure.stage !== 'action') return
    // The content in use is unknown now. So to go back to the former content is a reload as well.
    const tried = [...(this.#tried ?? []), ...this.#changed(now)]
    // Keys in neither content interest no reader. Kept, they would grow without end if each failure had other names.
    this.#tried = new Set(tried.filter((key) => now.keys.has(key) || this.applied?.keys.has(key)))
  }

  /** Returns the keys that differ from the content in use, or may have been tried since. */
  succeeded(now: Contents): string[] {
    const changed = shownKeys([...(this.#tried ?? []), ...this.#changed(now)])
    this.applied = now
    this.#tried = undefined
    this.failing = undefined
    return changed
  }

  #changed({ keys }: Contents): string[] {
    return differing(this.applied?.keys ?? new Map(), keys)
  }
}
