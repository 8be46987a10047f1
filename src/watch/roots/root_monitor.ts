import { debuglog } from 'node:util'
import type { Looker } from '../diff/looker.ts'
import type { Translator } from '../events/translator.ts'
import type { RecheckQueue } from '../pending/recheck_queue.ts'
import type { Source } from '../report/change.ts'
import type { Reporter } from '../report/reporter.ts'
import { isShortage, openError } from '../report/watch_error.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Attacher } from './attach.ts'
import type { FileRoots } from './file_roots.ts'
import { aboutRoot, type Root } from './root.ts'
import type { RootForest } from './root_forest.ts'

export interface RootMonitorParts {
  tree: Tree
  translator: Translator
  rechecks: RecheckQueue
  looker: Pick<Looker, 'identify'>
  files: FileRoots
  attacher: Attacher
  forest: RootForest
  reporter: Reporter
  /** Those that are watched, now. */
  roots(): Root[]
  /** ms since the epoch: all that was done before has been told. */
  consistentUntil(): number
}

const trace = debuglog('inotify-bridge')

/** Whether roots are what they were: 'lost' and 'restored'. */
export class RootMonitor {
  readonly #parts: RootMonitorParts

  constructor(parts: RootMonitorParts) {
    this.#parts = parts
  }

  markLost(root: Root, source: Source): void {
    const { tree, translator, rechecks, reporter, forest, consistentUntil } = this.#parts
    if (!root.isPresent) return
    reporter.report(translator.giveUp(translator.pending))
    root.isPresent = false
    root.isOverflown = false
    root.consistentUntil = consistentUntil()
    reporter.report([aboutRoot('lost', root, source)])
    for (const each of forest.coveredBy(root)) forest.lose(each, source)
    rechecks.forget((directory) => tree.topOf(directory) === root.top)
    for (const directory of root.top === undefined ? [] : tree.within(root.top)) tree.clearWatch(directory)
    root.outdate()
  }

  /** The path is not what it was: says so, and watches what is there now, if something is. */
  async reattach(root: Root, source: Source): Promise<void> {
    const { attacher, reporter, roots } = this.#parts
    this.markLost(root, source)
    if (!roots().includes(root)) return
    reporter.withhold()
    const isRestored = await attacher.attach(root).then(
      () => true,
      (error) => {
        trace('%s is still lost: %s', root.path, error)
        return false
      },
    )
    const found = reporter.takeWithheld()
    if (isRestored) reporter.report([aboutRoot('restored', root, 'rescan'), ...found])
  }

  /**
   * Looks whether each path is still what it was. The answer: what was short, so that nobody could look, and nothing is known.
   *
   * @param only of these roots
   */
  async checkIdentity(only?: ReadonlyMap<Root, unknown>): Promise<unknown> {
    const { looker, files } = this.#parts
    const roots = this.#parts
      .roots()
      .filter((root) => root.isPresent && root.top !== undefined && (only?.has(root) ?? true))
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
      else if (finding?.identity !== root.identity) await this.reattach(root, 'rescan')
    }
    if (only === undefined) await files.lookAtAll('rescan')
    return shortage
  }
}
