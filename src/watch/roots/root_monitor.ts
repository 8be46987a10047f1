import { debuglog } from 'node:util'
import type { Surveyor } from '../diff/rescan.ts'
import type { Translator } from '../events/translator.ts'
import type { Watches } from '../events/watch_release.ts'
import type { Doubts } from '../pending/recheck_queue.ts'
import type { Polling } from '../poll/poller.ts'
import type { Source } from '../report/change.ts'
import type { Telling } from '../report/reporter.ts'
import { isShortage, openError } from '../report/watch_error.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Attaching } from './attach.ts'
import type { FileRoots } from './file_roots.ts'
import { aboutRoot, type Root } from './root.ts'

export interface PresenceParts {
  tree: Tree
  translator: Translator
  doubts: Doubts
  surveyor: Surveyor
  watches: Watches
  files: FileRoots
  attaching: Attaching
  polling: Polling
  telling: Telling
  /** Those that are watched, now. */
  roots(): Root[]
  /** ms since the epoch: all that was done before has been told. */
  goodUntil(): number
  /** There may be something to be polled, or to be looked at. */
  arm(): void
}

const trace = debuglog('inotify-bridge')

/** Whether roots are what they were: 'lost' and 'restored'. */
export class Presence {
  readonly #parts: PresenceParts

  constructor(parts: PresenceParts) {
    this.#parts = parts
  }

  lose(root: Root, source: Source): void {
    const { tree, translator, doubts, watches, polling, telling, goodUntil, arm } = this.#parts
    if (!root.isPresent) return
    telling.report(translator.giveUp(translator.pending))
    root.isPresent = false
    root.isOverflown = false
    root.goodUntil = goodUntil()
    telling.report([aboutRoot('lost', root, source)])
    doubts.forget((directory) => tree.topOf(directory) === root.top)
    for (const directory of root.top === undefined ? [] : tree.within(root.top)) tree.clearWatch(directory)
    watches.retireLeft()
    polling.discard()
    arm()
  }

  /** The path is not what it was: says so, and watches what is there now, if something is. */
  async replace(root: Root, source: Source): Promise<void> {
    const { attaching, telling, roots, arm } = this.#parts
    this.lose(root, source)
    if (!roots().includes(root)) return
    telling.withhold()
    const isRestored = await attaching.attach(root).then(
      () => true,
      (error) => {
        trace('%s is still lost: %s', root.path, error)
        return false
      },
    )
    const found = telling.takeWithheld()
    if (isRestored) telling.report([aboutRoot('restored', root, 'rescan'), ...found])
    arm()
  }

  /** Looks whether each path is still what it was. The answer: what was short, so that nobody could look, and nothing is known. */
  async verify(): Promise<unknown> {
    const { surveyor, files } = this.#parts
    const roots = this.#parts.roots().filter(({ isPresent, top }) => isPresent && top !== undefined)
    const tops = roots.map(({ top }) => top as Directory)
    let shortage: unknown
    const found = await surveyor.identify(tops).catch((error) => {
      if (!isShortage(error)) throw error
      trace('%s', error)
      shortage = error
      return undefined
    })
    for (const root of found === undefined ? [] : roots) {
      const finding = found?.get(root.top as Directory)
      if (finding?.isShort) shortage = openError(finding.error, root.path)
      else if (finding?.identity !== root.identity) await this.replace(root, 'rescan')
    }
    await files.lookAtAll('rescan')
    return shortage
  }
}
