import { CLOCK_SLACK_MS } from '../../clock.ts'
import { type DiffOptions, SAVED } from '../../diff/diff_options.ts'
import { type Remembered, savedFile } from '../../saved/since.ts'
import { type Directory, WatchedMount } from '../../tree/directory.ts'
import { FileRoot } from '../file_root.ts'
import { asLost, type Root } from '../root.ts'
import type { ForestContext } from './context.ts'

/** The saved state of the roots given to watch(): their trees begin with it, before the first look. */
export class SavedRoots {
  readonly #context: ForestContext
  readonly #missing = new Set<Root>()

  constructor(context: ForestContext) {
    this.#context = context
  }

  /** Returns the saved state of a root that is looked at for the first time. */
  async of({ path, absence }: Root): Promise<Remembered | undefined> {
    return absence === undefined ? await this.#context.since?.at(path) : undefined
  }

  /** Adds the saved entries of a directory to the tree. Returns how they are compared with the present ones; undefined: there are none to compare. */
  async plant(top: Directory, saved: Remembered | undefined): Promise<DiffOptions | undefined> {
    if (saved === undefined || !(await this.#context.since?.plant(top, saved))) return undefined
    return { ...SAVED, since: saved.toldUntil }
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

  /** Begins a root at whose path there is nothing with its saved state, as a lost one. */
  async recall(root: Root): Promise<void> {
    const { forest, settings } = this.#context
    if (root.top !== undefined || root.file !== undefined) return
    const saved = await this.of(root)
    const file = savedFile(saved)
    if (saved?.root.kind === 'directory') {
      const top = forest.plant(root, new WatchedMount({ backend: 'poll', why: 'nothing is there' }))
      if (await this.plant(top, saved)) this.miss(root, top, saved)
      else forest.drop(root)
    } else if (file !== undefined) {
      root.file = new FileRoot(root.path, settings)
      root.file.entry = file
      this.#missing.add(root)
    }
  }

  /** Notes that a saved root is not there: its saved entries are compared with what comes. */
  miss(root: Root, top: Directory, { toldUntil }: Remembered): void {
    root.vanish(toldUntil + CLOCK_SLACK_MS)
    this.#context.tree.setLost(top, true)
    this.#missing.add(root)
  }

  /** Settles a root after its first look: a saved root that is not there is reported as lost. */
  settle(root: Root): void {
    if (this.#missing.delete(root) && !root.isPresent)
      this.#context.reporter.report([asLost(root, 'deleted', 'snapshot')])
  }
}
