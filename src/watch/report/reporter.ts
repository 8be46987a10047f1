import { debuglog } from 'node:util'
import type { Clock } from '../clock.ts'
import type { Settings } from '../options.ts'
import type { Change } from './change.ts'
import type { Expansions } from './expansions.ts'
import { ModifyDebounce } from './modify_debounce.ts'

/** Who is told what has changed, and what is wrong. */
export interface WatchListener {
  /** Paths are keys: see name_key.ts. */
  changes(changes: Change[]): void
  /** Something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void
  /** Events can no longer be read. */
  broken(error: Error): void
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
}

const trace = debuglog('inotify-bridge')

/**
 * The only way out. Changes go to the listener at once, or when a path has been quiet, or when it is known that they are to be told; troubles at
 * once.
 */
export class Reporter {
  readonly #listener: WatchListener
  readonly #quiet: ModifyDebounce | undefined
  readonly #expansions: Expansions | undefined
  #withheld: Change[] | undefined
  #stopped = false

  /** @param expansions of what is reported, if all of it is to be told one by one */
  constructor(
    { settle }: Pick<Settings, 'settle'>,
    clock: Clock,
    listener: WatchListener,
    expansions?: Expansions,
  ) {
    this.#listener = listener
    this.#expansions = expansions
    const tell = (changes: Change[]) => this.#tell(changes)
    if (settle !== 0) this.#quiet = new ModifyDebounce(settle, clock, tell)
  }

  report(changes: Change[]): void {
    if (changes.length === 0 || this.#stopped) return
    if (this.#withheld !== undefined) for (const change of changes) this.#withheld.push(change)
    else if (this.#quiet !== undefined) this.#quiet.take(changes)
    else this.#tell(changes)
  }

  #tell(changes: Change[]): void {
    this.#listener.changes(this.#expansions === undefined ? changes : this.#expansions.expand(changes))
  }

  /** Something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void {
    if (this.#stopped) return
    trace('%s', error)
    this.#listener.trouble(error)
  }

  /** Events can no longer be read. */
  broken(error: Error): void {
    this.#listener.broken(error)
  }

  /** Resolves when more changes are wanted. */
  room(): Promise<void> {
    return this.#listener.room()
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

  /** What waits for its path to be quiet is told now; with a path: what lies there and below. */
  flush(path?: string): void {
    this.#quiet?.flush(path)
  }

  /** Whether a 'create' of this path waits to be reported. */
  holdsCreate(path: string): boolean {
    return this.#quiet?.holdsCreate(path) ?? false
  }

  /** Nothing is told after the call. */
  stop(): void {
    this.#stopped = true
    this.#quiet?.stop()
  }
}
