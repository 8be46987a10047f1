import { CLOCK_SLACK_MS } from '../clock.ts'
import { RESCAN } from '../diff/diff_options.ts'
import { openError } from '../report/watch_error.ts'
import { aboutRoot, type Root, reasonOfFinding } from '../roots/root.ts'
import { type Directory, isLinkBase } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/** ms from one try to the next. */
const RETRY_MS = 500

/** Compares, after an overflow, what is there with what is believed, to find the changes that no event has told. */
export class OverflowRecovery {
  readonly #context: EngineContext
  // ms since the epoch: changes before then had been told when events were lost.
  #lostSince = 0
  #wake = () => {}
  #stopped = false

  constructor(context: EngineContext) {
    this.#context = context
  }

  onOverflow(): void {
    const { translator, pending, reporter } = this.#context
    this.#lostSince = pending.consistentUntil
    reporter.report(translator.giveUp())
    for (const root of this.#context.forest.standing().filter(isWatched)) {
      root.isOverflown = true
      reporter.report([aboutRoot('overflow', root, 'inotify')])
    }
  }

  /** Recovers as soon as there are threads, descriptors and memory for it. Meanwhile no event is told, and all other work goes on. */
  async recover(): Promise<void> {
    const { system, queue, shortage } = this.#context
    // Findings told before a shortage are true, and the next try finds all others.
    const attempt = () => shortage.unless(this, () => this.#recover())
    while (!this.#stopped && !(await queue.run(attempt)))
      await new Promise<void>((resolve) => {
        const cancel = system.clock.after(RETRY_MS, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
  }

  /** Ends the wait between tries. */
  stop(): void {
    this.#stopped = true
    this.#wake()
  }

  async #recover(): Promise<void> {
    const { pending, rootMonitor, rescan, followUp, forest, reporter } = this.#context
    // An overflown root that has come to be polled since has lost events all the same.
    const roots = forest.standing().filter((root) => root.isOverflown || isWatched(root))
    const startedAt = this.#context.system.clock.now()
    const since = this.#lostSince - CLOCK_SLACK_MS
    for (const root of roots) root.outdate()
    pending.rechecks.clear()
    const shortage = await rootMonitor.review()
    if (shortage !== undefined) throw shortage
    const present = roots.filter(({ isPresent, top }) => isPresent && top !== undefined)
    const { roots: found, unlisted } = await rescan.reconcile(
      present.map(({ top }) => top as Directory),
      { ...RESCAN, since, statAll: true },
    )
    for (const root of present) {
      const finding = found.get(root.top as Directory)
      if (finding?.isShort) throw openError(finding.error, root.path)
    }
    // The finding may be another directory, nothing, a removal under the walk, or the failure of a server or a disk:
    // then the root has not been looked through.
    for (const root of present) {
      const finding = found.get(root.top as Directory)
      if (finding?.error !== 0 || !root.is(finding))
        await rootMonitor.reattach(root, 'rescan', reasonOfFinding(finding))
    }
    // A write in an unlisted directory would be reported by no event.
    if (unlisted !== undefined) throw unlisted
    await followUp.list()
    await rootMonitor.recoverFiles(since)
    pending.consistentUntil = startedAt
    for (const root of roots) {
      if (root.isOverflown && root.isPresent) reporter.report([aboutRoot('recovered', root, 'rescan')])
      root.isOverflown = false
    }
    // The comparison comes last: its findings are looked at later, and the kernel takes 0.2 s to write 50,000 watches.
    await this.#reconcileWatches()
  }

  /** Compares the tree's watches with the kernel's. An overflow may have swallowed that watches are gone (IN_IGNORED), or left some that nobody needs. */
  async #reconcileWatches(): Promise<void> {
    const { tree, pending, inotify, rootMonitor } = this.#context
    const wds = await inotify.kernelWatches()
    if (wds === undefined) return
    const unwatched = new Set(tree.watchedBut(wds))
    for (const directory of unwatched) {
      tree.loseWatch(directory)
      // No event of its directory tells that a link leads elsewhere: the target is told anew, even with the same ino.
      if (isLinkBase(directory)) directory.ino = 0
      if (directory.parent !== undefined) pending.rechecks.add(directory.parent, directory.name)
    }
    inotify.retire(wds)
    // A root lies in nothing that tells of it either, and nobody would get the events of its watch. A look would not
    // do: another directory at its path may have been given its inode number.
    for (const root of this.#context.forest.standing().filter(isWatched))
      if (root.top !== undefined && unwatched.has(root.top))
        await rootMonitor.reattach(root, 'rescan', 'deleted')
  }
}

/** Returns true if events tell of some of it. */
function isWatched({ isPresent, mounts }: Root): boolean {
  return isPresent && [...mounts].some(({ usesInotify }) => usesInotify)
}
