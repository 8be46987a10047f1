import { CLOCK_SLACK_MS } from '../../clock.ts'
import { type DiffOptions, SAVED } from '../../diff/diff_options.ts'
import type { Remembered } from '../../saved/since.ts'
import type { Entry } from '../../scan/entry.ts'
import { type Directory, WatchedMount } from '../../tree/directory.ts'
import { FileRoot } from '../file_root.ts'
import { asLost, type Root } from '../root.ts'
import type { ForestContext } from './context.ts'

/** What was saved of the roots given to watch(), which is believed of them before anybody looks. */
export class SavedRoots {
  readonly #context: ForestContext
  readonly #missing = new Set<Root>()

  constructor(context: ForestContext) {
    this.#context = context
  }

  /** Whether all that was not saved is told as new. */
  get tellsAll(): boolean {
    return this.#context.since?.isOpen === true
  }

  /** What was saved of a root that is looked at for the first time. */
  async of({ path, absence }: Root): Promise<Remembered | undefined> {
    return absence === undefined ? await this.#context.since?.at(path) : undefined
  }

  /** Has what was saved of a directory believed. The answer: how that is held against what is there; undefined: nothing that could be. */
  async plant(top: Directory, saved: Remembered | undefined): Promise<DiffOptions | undefined> {
    if (saved?.kind !== 'directory' || !(await this.#context.since?.plant(top, saved))) return undefined
    return { ...SAVED, since: saved.toldUntil }
  }

  /** What was saved of a file; undefined: it was none. */
  fileOf(saved: Remembered | undefined): Entry | undefined {
    return saved?.kind === 'file' ? this.#context.since?.fileOf(saved) : undefined
  }

  /** Reports as gone what was saved of a root that lay behind a link, if that link is none any more. An outer root reports what is there, after this. */
  async forsakeCovered(root: Root, outer: Root): Promise<void> {
    const { since, forest, paths, coverings } = this.#context
    if (since?.hadTree(root.path) !== true || coverings.isHidden(root.path, outer)) return
    const [way, outerWay] = await Promise.all([paths.wayOf(root.path), paths.wayOf(outer.path)])
    if (way.links.length > outerWay.links.length) return
    await this.recall(root)
    this.#missing.delete(root)
    forest.forsake(root)
    forest.drop(root)
    since.forget(root.path)
  }

  /** What is there is no such thing as was saved. */
  refuse({ path }: Root, saved: Remembered): void {
    this.#context.since?.refuseKind(path, saved)
  }

  /** Nothing is at the path of a root: what was saved of it is believed as that of one that is lost. */
  async recall(root: Root): Promise<void> {
    const { forest, settings } = this.#context
    if (root.top !== undefined || root.file !== undefined) return
    const saved = await this.of(root)
    const file = this.fileOf(saved)
    if (saved?.kind === 'directory') {
      const top = forest.plant(root, new WatchedMount('poll', 'nothing is there', 0))
      if (await this.plant(top, saved)) this.miss(root, top, saved)
      else forest.drop(root)
    } else if (file !== undefined) {
      root.file = new FileRoot(root.path, settings)
      root.file.begin(file)
      root.file.isPresent = false
      this.#missing.add(root)
    }
  }

  /** It was there when it was saved, and is not now: what is believed of it is compared with what comes. */
  miss(root: Root, top: Directory, { toldUntil }: Remembered): void {
    root.vanish(toldUntil + CLOCK_SLACK_MS)
    this.#context.tree.setLost(top, true)
    this.#missing.add(root)
  }

  /** The last look has found nothing, or something: such a root is lost, or is not missing any more. */
  settle(root: Root, isThere: boolean): void {
    if (this.#missing.delete(root) && !isThere)
      this.#context.reporter.report([asLost(root, 'deleted', 'snapshot')])
  }
}
