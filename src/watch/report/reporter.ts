import { debuglog } from 'node:util'
import type { Clock } from '../clock.ts'
import type { Settings } from '../options.ts'
import type { Change } from './change.ts'
import type { Expansions } from './expansions.ts'
import type { Makers } from './makers.ts'
import { ModifyDebounce } from './modify_debounce.ts'

/** The listener that is told what has changed, and what is wrong. */
export interface WatchListener {
  /** Paths are keys: see name_key.ts. */
  changes(changes: Change[]): void
  /** Takes an error: something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void
  /** Takes the error by which events can no longer be read. */
  broken(error: Error): void
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
}

const trace = debuglog('inotify-bridge')

/** The only way out. Changes go to the listener at once, or when a path has been quiet, or when it is decided that they are told at all; troubles at once. */
export class Reporter {
  readonly #listener: WatchListener
  readonly #quiet: ModifyDebounce | undefined
  readonly #expansions: Expansions | undefined
  readonly #makers: Makers | undefined
  #withheld: Change[] | undefined
  #stopped = false

  /**
   * @param expansions the expansions of the changes, if each entry below a directory is to be told one by one
   * @param makers says who made the changes, if that is to be told
   */
  constructor(
    { settle }: Pick<Settings, 'settle'>,
    clock: Clock,
    listener: WatchListener,
    expansions?: Expansions,
    makers?: Makers,
  ) {
    this.#listener = listener
    this.#expansions = expansions
    this.#makers = makers
    if (settle !== 0) this.#quiet = new ModifyDebounce(settle, clock, (changes) => this.#tell(changes))
  }

  report(changes: Change[]): void {
    if (changes.length === 0 || this.#stopped) return
    // Now, and not when they are told: by then others may have written the same paths.
    this.#makers?.sign(changes)
    if (this.#withheld !== undefined) for (const change of changes) this.#withheld.push(change)
    else if (this.#quiet !== undefined) this.#quiet.take(changes)
    else this.#tell(changes)
  }

  #tell(changes: Change[]): void {
    this.#listener.changes(this.#expansions === undefined ? changes : this.#expansions.expand(changes))
  }

  /** Tells that something is not as it should be, while the watching goes on. */
  trouble(error: unknown): void {
    if (this.#stopped) return
    trace('%s', error)
    this.#listener.trouble(error)
  }

  /** Tells that events can no longer be read. */
  broken(error: Error): void {
    this.#listener.broken(error)
  }

  /** Resolves when more changes are wanted. */
  room(): Promise<void> {
    return this.#listener.room()
  }

  /** Returns the changes that some work would have told. They are told if the work fails. */
  async withheld(work: () => Promise<unknown>): Promise<Change[]> {
    const withheld: Change[] = []
    this.#withheld = withheld
    try {
      await work()
      return withheld.splice(0)
    } finally {
      this.#withheld = undefined
      this.report(withheld)
    }
  }

  /** Tells now the changes that wait for their path to be quiet; with a path: those of it and below. */
  flush(path?: string): void {
    this.#quiet?.flush(path)
  }

  /** Returns true if a 'create' of this path waits to be reported. */
  holdsCreate(path: string): boolean {
    return this.#quiet?.holdsCreate(path) ?? false
  }

  /** Ends the telling: nothing is told after the call. */
  stop(): void {
    this.#stopped = true
    this.#quiet?.stop()
  }
}
