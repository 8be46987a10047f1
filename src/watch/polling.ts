import { CLOCK_SLACK_MS } from './clock.ts'
import type { Directory } from './directory.ts'
import type { Events } from './events.ts'
import type { FileRoots } from './file_roots.ts'
import type { InotifySource } from './inotify_source.ts'
import type { Lane } from './lane.ts'
import type { Listing } from './listing.ts'
import type { Root } from './root.ts'
import type { SurveyTerms } from './survey.ts'
import type { Surveyor } from './surveyor.ts'
import type { Tree } from './tree.ts'
import { Walker } from './walk.ts'

export interface PollingParts {
  lane: Lane
  tree: Tree
  files: FileRoots
  events: Events
  surveyor: Surveyor
  inotify(): InotifySource | undefined
  roots(): Root[]
  terms(terms: Partial<SurveyTerms>): SurveyTerms
  /** The root is not what it was. */
  replace(root: Root): Promise<void>
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
  recursive: boolean
}

// A listing during which names went is made again: what was renamed meanwhile may be in it twice, or not at all.
const ATTEMPTS = 3

/**
 * Lists what no event tells of, or not all, and takes it in. The listing is made by a walker of its own and while events go on: a mount
 * that has stopped answering holds up nothing but this.
 */
export class Polling {
  readonly #parts: PollingParts
  readonly #walker = new Walker()
  // What is listed is out of date when this has changed.
  #generation = 0
  // ms since the epoch: when the last poll began.
  #lastAt = Date.now()

  constructor(parts: PollingParts) {
    this.#parts = parts
  }

  /** Whether something has to be polled, if only to see whether it is there. */
  isNeeded(): boolean {
    return this.#parts.roots().some((root) => !root.isPresent || isPolled(root))
  }

  /** A listing that is under way is out of date. */
  discard(): void {
    this.#generation++
  }

  /** Looks for what is lost, and at all that is polled. */
  async poll(): Promise<void> {
    const { roots, tree, lane, files, replace, room } = this.#parts
    for (const root of roots()) {
      root.dropTerritories(tree)
      if (root.isPresent) continue
      await lane.run(async () => {
        if (!root.isPresent) await replace(root)
      })
    }
    await this.#pollDirectories()
    await lane.run(() => files.lookAtAll('poll'))
    await room()
  }

  close(): Promise<void> {
    return this.#walker.close()
  }

  async #pollDirectories(): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const current = this.#parts.roots().filter((root) => root.isPresent && isPolled(root))
      if (current.length === 0) return
      const touched = new Map<Directory, Set<string>>()
      this.#parts.events.touched = touched
      try {
        if (await this.#poll(current, touched, attempt === ATTEMPTS)) return
      } finally {
        this.#parts.events.touched = undefined
      }
    }
  }

  /** Whether it has been taken in. */
  async #poll(
    roots: readonly Root[],
    touched: ReadonlyMap<Directory, ReadonlySet<string>>,
    isLastAttempt: boolean,
  ): Promise<boolean> {
    const { lane, events, surveyor, inotify, recursive } = this.#parts
    const generation = this.#generation
    const since = this.#lastAt - CLOCK_SLACK_MS
    const startedAt = Date.now()
    const territories = roots.flatMap((root) => [...root.territories])
    const bases = territories.flatMap(({ isPolled, base }) => (isPolled && base !== undefined ? [base] : []))
    const leftover = territories.flatMap(({ isPolled, leftover }) => (isPolled ? [] : [...leftover]))
    const listings: Listing[] = []
    const requests = [
      ...bases.map((base) => surveyor.pollRequest(base, recursive)),
      ...leftover.map((directory) => surveyor.pollRequest(directory, false)),
    ]
    await this.#walker.walk(requests, (listing) => listings.push(listing))
    if (!isLastAttempt && listings.some(({ isMoving }) => isMoving)) return false
    // What the listing shows and events tell as well, they have told behind the barrier: each change is told once, and by its event
    // where it has one.
    await inotify()
      ?.barrier()
      .catch(() => {})
    return await lane.run(async () => {
      events.touched = undefined
      if (generation !== this.#generation) return false
      // A root that is another directory by now is lost, and not compared with what it was.
      const replaced = this.#replaced(roots, bases, listings)
      for (const root of replaced) await this.#parts.replace(root)
      if (replaced.length > 0) return false
      // Of what is polled for want of a watch no stat is kept: its filesystem has this machine's clock.
      const terms = this.#parts.terms({ source: 'poll', since: leftover.length > 0 ? since : 0, touched })
      await surveyor.takeListings([...bases, ...leftover], listings, terms)
      await events.list()
      this.#lastAt = startedAt
      return true
    })
  }

  #replaced(roots: readonly Root[], bases: readonly Directory[], listings: readonly Listing[]): Root[] {
    return roots.filter((root) => {
      const id = root.top === undefined ? -1 : bases.indexOf(root.top)
      const listing = listings.find((each) => each.id === id)
      return listing !== undefined && (listing.error !== 0 || listing.identity !== root.identity)
    })
  }
}

/** Whether something of a root is polled. */
function isPolled({ territories }: Root): boolean {
  for (const { isPolled, leftover } of territories) if (isPolled || leftover.size > 0) return true
  return false
}
