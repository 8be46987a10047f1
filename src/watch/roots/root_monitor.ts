import { debuglog } from 'node:util'
import { CLOCK_SLACK_MS } from '../clock.ts'
import type { LostReason, Source } from '../report/change.ts'
import { isLimit, isShortage, openError, staleMountError } from '../report/watch_error.ts'
import type { Directory } from '../tree/directory.ts'
import type { Attacher } from './attach.ts'
import { type FileFinding, type FileRoots, isOnAny } from './file_roots.ts'
import type { ForestContext } from './forest/context.ts'
import type { Hint, Hints } from './path_watches.ts'
import { asLost, asRestored, isSought, Root, reasonOfEvent, reasonOfFinding } from './root.ts'

const trace = debuglog('inotify-bridge')

/** Finds out whether roots are what they were: 'lost' and 'restored'. */
export class RootMonitor {
  readonly #context: ForestContext
  readonly #files: FileRoots
  readonly #attacher: Attacher
  // Mount points where nothing is mounted any more, until the consequences have been looked at.
  readonly #vacant = new Set<string>()

  constructor(context: ForestContext, files: FileRoots, attacher: Attacher) {
    this.#context = context
    this.#files = files
    this.#attacher = attacher
  }

  markLost(root: Root, reason: LostReason, source: Source): void {
    const { tree, translator, pending, reporter, forest } = this.#context
    if (!root.isPresent) return
    reporter.report(translator.giveUp())
    const isInIt = (directory: Directory) => tree.topOf(directory) === root.top
    // A restored root is compared since all had been told: by events, or by the polls of what had no watch.
    let toldUntil = Math.min(pending.consistentUntil, pending.failed.forget(isInIt) + CLOCK_SLACK_MS)
    for (const { leftover } of root.mounts)
      for (const polledUntil of leftover.values()) toldUntil = Math.min(toldUntil, polledUntil)
    root.vanish(toldUntil)
    reporter.report([asLost(root, reason, source)])
    forest.lookFor(root)
    for (const each of forest.coveredBy(root)) forest.lose(each, reason, source)
    pending.rechecks.forget(isInIt)
    if (root.top !== undefined) tree.setLost(root.top, true)
    for (const directory of root.top === undefined ? [] : tree.within(root.top)) tree.clearWatch(directory)
    root.outdate()
  }

  /** Marks a root as lost whose directory is gone, moved or unmounted, by the mask of an event. */
  onGone(top: Directory, mask: number): void {
    const root = this.#context.forest.rootOf(top)
    if (root !== undefined) this.markLost(root, reasonOfEvent(mask), 'inotify')
  }

  /** Looks again at each root that the hints concern. */
  async takeEvents(hints: Hints): Promise<void> {
    const files = new Map<Root, Hint>()
    const others: Root[] = []
    for (const [root, hint] of hints) {
      if (!(root instanceof Root)) continue
      if (root.file === undefined || root.isAwaited) others.push(root)
      else files.set(root, hint)
    }
    for await (const found of this.#files.take(files)) await this.#onFile(found, 'inotify')
    if (others.length > 0) await this.review(others)
  }

  /** Looks at each root that is a file. */
  async lookAtFiles(source: Source): Promise<void> {
    const vacant = [...this.#vacant]
    for await (const found of this.#files.lookAtAll(source)) await this.#onFile(found, source)
    // Polled files were left to this look.
    if (source === 'poll') this.#forgetVacant(vacant)
  }

  /** Looks at each file root, of which events were lost. `since`, ms since the epoch: changes from then on may be untold. */
  async recoverFiles(since: number): Promise<void> {
    for await (const found of this.#files.reviewAll(since)) await this.#onFile(found, 'rescan')
  }

  async #onFile({ root, what, reason }: FileFinding, source: Source): Promise<void> {
    if (what === 'may be back') await this.reattach(root, source, reason)
    else await this.#lose(root, reason, source)
    if (reason === 'stale') root.absence = staleMountError(root.path)
  }

  /** Marks a root as lost that a look has not found. The mount table tells whether it was unmounted, which the look cannot. */
  async #lose(root: Root, reason: LostReason, source: Source): Promise<void> {
    if (root.isPresent && reason !== 'renamed' && reason !== 'stale') {
      await this.#context.mountWatch.settled()
      if (isOnAny(root, this.#vacant)) return this.markLost(root, 'unmounted', source)
    }
    this.markLost(root, reason, source)
  }

  /** Tells that the path is not what it was, and watches what is there now, if something is. */
  async reattach(root: Root, source: Source, reason: LostReason = 'replaced'): Promise<void> {
    const { system, reporter, forest } = this.#context
    forest.forsakeVacated()
    await this.#lose(root, reason, source)
    if (!forest.isStanding(root)) return
    forest.forsakeCovered(root)
    const startedAt = system.clock.now()
    let failure: unknown
    const found = await reporter.withheld(() =>
      this.#attacher.attach(root).catch((error) => {
        trace('%s is still lost: %s', root.path, error)
        failure = error
      }),
    )
    if (failure !== undefined && found.length === 0) return
    reporter.report([asRestored(root), ...found])
    if (failure === undefined) return
    // The new beliefs had to be told, though nobody can go on to watch the root.
    reporter.report([asLost(root, 'unreadable', 'rescan')])
    // No watch was left, but all was looked through: each try would find it again. Other failures may not see all.
    if (isLimit(failure) && !isShortage(failure)) root.vanish(startedAt)
  }

  /** Looks at the roots after mounts and unmounts at these points: another directory may be at the path of a root. */
  async onMounts(points: readonly string[]): Promise<void> {
    await this.review()
    for await (const found of this.#files.onMounts(points)) await this.#onFile(found, 'rescan')
    for (const root of this.#watched()) {
      const { isPresent } = root
      // IN_UNMOUNT may have told of an unmount before the mount table: what lies below is there by now.
      if (!isPresent || (isOnAny(root, points) && !(await this.#attacher.hasItsSource(root))))
        await this.reattach(root, 'rescan')
    }
    if (!this.#files.arePolled) this.#forgetVacant(points)
  }

  /** Returns the roots that no poll looks at: a task that asked a server which has stopped would hold up the events of all other mounts. */
  #watched(): Root[] {
    return this.#context.forest
      .standing()
      .filter((root) => !isSought(root) && root.mount?.usesPolling !== true)
  }

  #forgetVacant(points: Iterable<string>): void {
    for (const point of points) this.#vacant.delete(point)
  }

  /** Notes points where nothing is mounted any more: at once, while {@link onMounts} has to wait for its turn. */
  noteUnmounted(points: readonly string[]): void {
    for (const point of points) this.#vacant.add(point)
  }

  /**
   * Watches the ways again, then looks as {@link checkIdentity} does: after events, told or lost, or after mounts, a way may lead over
   * other directories, or a missing entry may be there. The watches come first: else nobody would tell the next change on the new way.
   */
  async review(roots: Iterable<Root> = this.#watched()): Promise<unknown> {
    const { forest } = this.#context
    const asked = [...roots].filter((root) => forest.isStanding(root))
    for (const root of asked) {
      if (root.isAwaited) await this.reattach(root, 'inotify')
      else if (root.isPresent && root.top !== undefined) await this.#attacher.follow(root)
    }
    return await this.checkIdentity(asked)
  }

  /**
   * Looks whether each path is still what it was. Returns the shortage for which nobody could look, so that nothing is known.
   *
   * @param only the roots to look at
   */
  async checkIdentity(only?: Iterable<Root>): Promise<unknown> {
    const { looker, forest } = this.#context
    forest.forsakeVacated()
    const asked = [...(only ?? this.#watched())].filter((root) => forest.isStanding(root))
    const roots = asked.filter(({ isPresent, top }) => isPresent && top !== undefined)
    const tops = roots.map(({ top }) => top as Directory)
    let shortage: unknown
    const found = await looker.identify(tops).catch((error) => {
      if (!isShortage(error)) throw error
      trace('%s', error)
      shortage = error
      return undefined
    })
    for (const root of found === undefined ? [] : roots) {
      const finding = found?.get(root.top as Directory)
      if (finding?.isShort) shortage = openError(finding.error, root.path)
      else if (finding === undefined || !root.is(finding))
        await this.reattach(root, 'rescan', reasonOfFinding(finding))
    }
    if (only === undefined) await this.lookAtFiles('rescan')
    return shortage
  }
}
