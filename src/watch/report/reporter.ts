import type { Clock } from '../clock.ts'
import type { Settings } from '../options.ts'
import type { Change } from './change.ts'
import { ModifyDebounce } from './modify_debounce.ts'

/** What is found goes to the listener this way: at once, or when a path has been quiet, or when it is known that it is to be told. */
export class Reporter {
  readonly #tell: (changes: Change[]) => void
  readonly #quiet: ModifyDebounce | undefined
  #withheld: Change[] | undefined
  #stopped = false

  constructor(
    { settle, persistent }: Pick<Settings, 'settle' | 'persistent'>,
    clock: Clock,
    tell: (changes: Change[]) => void,
  ) {
    this.#tell = tell
    if (settle > 0) this.#quiet = new ModifyDebounce(settle, persistent, clock, tell)
  }

  report(changes: Change[]): void {
    if (changes.length === 0 || this.#stopped) return
    if (this.#withheld !== undefined) for (const change of changes) this.#withheld.push(change)
    else if (this.#quiet !== undefined) this.#quiet.take(changes)
    else this.#tell(changes)
  }

  /** Nothing is told until {@link takeWithheld}. */
  withhold(): void {
    this.#withheld = []
  }

  /** What would have been told meanwhile. */
  takeWithheld(): Change[] {
    const withheld = this.#withheld ?? []
    this.#withheld = undefined
    return withheld
  }

  /** What waits for its path to be quiet is told now. */
  flush(): void {
    this.#quiet?.flush()
  }

  /** Nothing is told after the call. */
  stop(): void {
    this.#stopped = true
    this.#quiet?.stop()
  }
}
