import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { textOf } from '../../name_key.ts'
import { append, type Change, pathsOf } from '../report/change.ts'
import { gitDirectoryOf } from './git_files.ts'

/** A git that was killed leaves its lock behind. */
const MOST_MS = 30_000
const LOOK_MS = 10

/** The ways of a watcher to tell all that has happened. */
interface Teller {
  /** Resolves when all that the kernel had queued before has been given to the hold. */
  queued(): Promise<void>
  /** Resolves when all that was changed before has been, what is polled too. */
  sync(): Promise<void>
  tell(changes: Change[]): void
}

/**
 * Holds changes back while git changes files: while a repository that they lie in has an index.lock. git takes it before it changes a file, so a look when
 * a change is to be told comes in time, wherever .git lies and whatever is ignored.
 */
export class GitHold {
  readonly #teller: Teller
  #held: Change[] = []
  /** The directories that have been looked at for a .git, and the locks of those that have one. */
  readonly #known = new Set<string>()
  readonly #locks = new Set<string>()
  #isWaiting = false

  constructor(teller: Teller) {
    this.#teller = teller
  }

  take(changes: readonly Change[]): void {
    for (const change of changes) {
      append(this.#held, change)
      for (const path of pathsOf(change)) this.#note(path)
    }
    if (!this.#isWaiting) void this.#wait()
  }

  /** Tells now what is held back. */
  flush(): void {
    const held = this.#held
    this.#held = []
    this.#known.clear()
    this.#locks.clear()
    if (held.length > 0) this.#teller.tell(held)
  }

  /** Notes the locks of all repositories around: that of a submodule is changed by its own git, or by the outer one's. */
  #note(path: string): void {
    for (let at = path; at !== '/' && !this.#known.has(dirname(at)); ) {
      at = dirname(at)
      this.#known.add(at)
      const top = textOf(at)
      if (existsSync(join(top, '.git'))) this.#locks.add(join(gitDirectoryOf(top), 'index.lock'))
    }
  }

  async #wait(): Promise<void> {
    this.#isWaiting = true
    const end = performance.now() + MOST_MS
    try {
      for (let wasLocked = false; performance.now() < end; ) {
        if (this.#isLocked) {
          wasLocked = true
          await setTimeout(LOOK_MS, undefined, { ref: false })
          continue
        }
        // A git that is done by now has all its changes in the queue, or a poll finds them.
        await (wasLocked ? this.#teller.sync() : this.#teller.queued())
        // A rebase takes the lock again meanwhile.
        if (!this.#isLocked) break
      }
    } catch {
      // The watcher is closed, or lacks descriptors: then the rest comes later.
    }
    this.#isWaiting = false
    this.flush()
  }

  get #isLocked(): boolean {
    return [...this.#locks].some(isHeld)
  }
}

function isHeld(lock: string): boolean {
  try {
    return Math.abs(Date.now() - statSync(lock).mtimeMs) < MOST_MS
  } catch {
    return false
  }
}
