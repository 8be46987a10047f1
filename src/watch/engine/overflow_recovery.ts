import { debuglog } from 'node:util'
import type { SurveyTerms } from '../diff/diff_options.ts'
import type { Surveyor } from '../diff/rescan.ts'
import type { Events } from '../events/event_handler.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Translator } from '../events/translator.ts'
import type { Watches } from '../events/watch_release.ts'
import type { Doubts } from '../pending/recheck_queue.ts'
import type { Polling } from '../poll/poller.ts'
import type { Change } from '../report/change.ts'
import { isShortage, openError } from '../report/watch_error.ts'
import type { FileRoots } from '../roots/file_roots.ts'
import { aboutRoot, type Root } from '../roots/root.ts'
import type { Presence } from '../roots/root_monitor.ts'
import { CLOCK_SLACK_MS } from '../scan/clock.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Territory } from '../tree/watched_mount.ts'
import type { Lane } from './task_queue.ts'

export interface RecoveryParts {
  persistent: boolean
  lane: Lane
  tree: Tree
  translator: Translator
  doubts: Doubts
  surveyor: Pick<Surveyor, 'reconcile'>
  events: Pick<Events, 'list'>
  files: Pick<FileRoots, 'lookAtAll'>
  presence: Pick<Presence, 'verify'>
  polling: Pick<Polling, 'discard'>
  inotify(): Pick<InotifySource, 'kernelWatches' | 'isBarrier'> | undefined
  roots(): Root[]
  watches: Pick<Watches, 'retire'>
  terms(terms: Partial<SurveyTerms>): SurveyTerms
  report(changes: Change[]): void
  trouble(error: unknown): void
}

const SHORTEST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1000

const trace = debuglog('inotify-bridge')

/** After an overflow: what is there is held against what is believed, so that what was not told is found. */
export class Recovery {
  readonly #parts: RecoveryParts
  /** ms since the epoch: all that was done before has been told. */
  goodUntil = Date.now()
  // The same, when events were lost.
  #lostSince = 0
  #wake: (() => void) | undefined
  #stopped = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  onOverflow(): void {
    const { translator, report } = this.#parts
    this.#lostSince = this.goodUntil
    report(translator.giveUp(translator.pending))
    for (const root of this.#watched()) {
      root.isOverflown = true
      report([aboutRoot('overflow', root, 'inotify')])
    }
  }

  /** As soon as there are threads, descriptors and memory for it. Meanwhile no event is told, and what else there is to do goes on. */
  async recover(): Promise<void> {
    for (let wait = SHORTEST_WAIT_MS; !this.#stopped; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const shortage = await this.#parts.lane.run(() => this.#tryToRecover())
      if (shortage === undefined) return
      trace('not recovered: %s', shortage)
      if (wait === SHORTEST_WAIT_MS) this.#parts.trouble(shortage)
      await this.#wait(wait)
    }
  }

  /** Ends the waiting for better times. */
  stop(): void {
    this.#stopped = true
    this.#wake?.()
  }

  /** The answer: what was short. Then what has been found and told is true, and all else is found the next time. */
  async #tryToRecover(): Promise<unknown> {
    try {
      await this.#recover()
      return undefined
    } catch (error) {
      if (!isShortage(error)) throw error
      return error
    }
  }

  async #recover(): Promise<void> {
    const { polling, doubts, presence, surveyor, events, files, terms, report } = this.#parts
    const roots = this.#watched()
    const startedAt = Date.now()
    polling.discard()
    doubts.clear()
    const shortage = await presence.verify()
    if (shortage !== undefined) throw shortage
    const present = roots.filter(({ isPresent, top }) => isPresent && top !== undefined)
    const { roots: found, unlisted } = await surveyor.reconcile(
      present.map(({ top }) => top as Directory),
      terms({ since: this.#lostSince - CLOCK_SLACK_MS, withStat: true }),
    )
    for (const root of present) {
      const finding = found.get(root.top as Directory)
      if (finding?.isShort) throw openError(finding.error, root.path)
    }
    // What was written in there would be told by nobody.
    if (unlisted !== undefined) throw unlisted
    await events.list()
    await files.lookAtAll('rescan')
    await this.#reconcileWatches()
    this.goodUntil = startedAt
    for (const root of roots) {
      if (root.isOverflown && root.isPresent) report([aboutRoot('recovered', root, 'rescan')])
      root.isOverflown = false
    }
  }

  /** An overflow may have swallowed that watches are gone, and so may be believed in; and that some are there which nobody needs. */
  async #reconcileWatches(): Promise<void> {
    const { tree, doubts, watches } = this.#parts
    const inotify = this.#parts.inotify()
    const wds = await inotify?.kernelWatches()
    if (inotify === undefined || wds === undefined) return
    for (const directory of tree.watchedBut(wds)) {
      tree.loseWatch(directory)
      if (directory.parent !== undefined) doubts.add(directory.parent, directory.name)
    }
    watches.retire([...wds].filter((wd) => !inotify.isBarrier(wd)))
  }

  #watched(): Root[] {
    const isWatched = ({ isWatched }: Territory) => isWatched
    return this.#parts
      .roots()
      .filter(
        ({ isPresent, file, territories }) =>
          isPresent && (file !== undefined || [...territories].some(isWatched)),
      )
  }

  async #wait(ms: number): Promise<void> {
    if (this.#stopped) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      if (!this.#parts.persistent) timer.unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}
