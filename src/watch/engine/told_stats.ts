import type { Looker } from '../diff/snapshot/looker.ts'
import type { Change } from '../report/change.ts'
import type { Expansions } from '../report/expansions.ts'
import type { Stat } from '../report/stat.ts'
import { isShortage } from '../report/watch_error.ts'
import type { RootForest } from '../roots/forest/root_forest.ts'
import type { LookedAt } from '../scan/entry.ts'
import { Directory, isLinkBase, isSymlink } from '../tree/directory.ts'
import type { ShownStats } from '../tree/shown_stats.ts'
import type { Tree } from '../tree/tree.ts'
import type { Believed } from './believed.ts'

export interface ToldStatsParts {
  tree: Pick<Tree, 'isAttached' | 'isPresent' | 'entriesOf'>
  shown: ShownStats
  believed: Pick<Believed, 'locate' | 'statAt'>
  looker: Pick<Looker, 'lookWithStat' | 'stat'>
  forest: Pick<RootForest, 'rootOf'>
  expansions: Expansions | undefined
}

/**
 * With `stat: true`: has the changes of a command carry what is seen where they lead, before they are told. It looks when the command is done, at each name once: what a scan of the command
 * has seen is not looked at again.
 */
export class ToldStats {
  readonly #parts: ToldStatsParts

  constructor(parts: ToldStatsParts) {
    this.#parts = parts
  }

  /** Rejects only for what is no shortage: then the changes are as they were. */
  async addTo(changes: readonly Change[]): Promise<void> {
    const { shown, expansions } = this.#parts
    for (const change of changes) if (shown.placesOf(change) === undefined) this.#askFor(change)
    await this.#lookAtTops()
    await this.#lookAtAsked()
    for (const change of changes) {
      const places = shown.placesOf(change)
      for (const [i, { path, put }] of endsOf(change).entries()) {
        const place = places?.[i]
        if (place === undefined) put(this.#statAt(path))
        else put(this.#statSeen(place.directory, place.name))
      }
      // What lies below what was renamed is as it was.
      for (const below of expansions?.below(change) ?? [])
        for (const { path, put } of endsOf(below)) put(this.#statAt(path))
    }
    shown.advance()
  }

  /** What trees are told to have that were told of by another before. Roots that are files have been looked at. */
  #askFor(change: Change): void {
    const { shown, believed } = this.#parts
    const places = endsOf(change).map(({ path }) => believed.locate(path))
    const named = places.flatMap((place) => (place?.name === undefined ? [] : [place]))
    if (named.length > 0 && named.length === places.length) shown.askFor(change, ...named)
  }

  /** None of what nobody could look at: what was seen of it before is another. */
  #statSeen(directory: Directory, name: string): Stat | undefined {
    const { tree, shown, believed } = this.#parts
    const entry = tree.isAttached(directory) ? tree.entriesOf(directory).get(name) : undefined
    if (entry === undefined) return undefined
    const isSeen = shown.isFresh(directory, name) || isSymlink(entry)
    return isSeen ? believed.statAt({ directory, name, entry }) : undefined
  }

  #statAt(path: string): Stat | undefined {
    const { believed } = this.#parts
    const place = believed.locate(path)
    return place && believed.statAt(place)
  }

  /**
   * By the path that is believed: a directory that has moved is not where it is looked for, until its event has been told. What could not be seen is asked for again, and what is shown of it
   * until then is out of date.
   */
  async #lookAtAsked(): Promise<void> {
    const { shown, looker, tree } = this.#parts
    const looks = new Map<Directory, LookedAt[]>()
    for (const [directory, names] of [...shown.asked]) {
      // While its root is lost nobody can look.
      if (tree.isAttached(directory) && !tree.isPresent(directory)) continue
      const entries = tree.isAttached(directory) ? tree.entriesOf(directory) : undefined
      for (const name of names.keys()) {
        const entry = entries?.get(name)
        const isLink = entry instanceof Directory && isLinkBase(entry)
        // Where a link leads, whoever follows it has looked.
        if (entry === undefined || isLink || shown.isFresh(directory, name)) shown.answer(directory, name)
        else {
          shown.drop(directory, name)
          const asked = looks.get(directory)
          if (asked === undefined) looks.set(directory, [{ name, seen: undefined }])
          else asked.push({ name, seen: undefined })
        }
      }
    }
    if (looks.size === 0) return
    await unlessShort(looker.lookWithStat(looks))
    for (const [directory, names] of looks) {
      const entries = tree.entriesOf(directory)
      for (const { name, seen } of names) {
        if (seen?.stat === undefined || seen.kind !== entries.get(name)?.kind) shown.miss(directory, name)
        else {
          shown.note(directory, name, seen)
          shown.answer(directory, name)
        }
      }
    }
  }

  async #lookAtTops(): Promise<void> {
    const { shown, looker, forest } = this.#parts
    const tops = [...shown.takeTops()]
    const roots = tops.map((top) => forest.rootOf(top))
    const paths = roots.map((root) => root?.realPath ?? '/')
    const found = tops.length === 0 ? [] : await unlessShort(looker.stat(paths))
    for (const [i, top] of tops.entries()) {
      const seen = found?.[i]
      if (seen && 'ino' in seen) shown.noteTop(top, seen)
    }
  }
}

/** Where a change leads, and how what is there is put into it. */
interface End {
  path: string
  put(stat: Stat | undefined): void
}

function endsOf(change: Change): End[] {
  if (!('mask' in change) || change.type === 'delete') return []
  const end: End = {
    path: change.path,
    put: (stat) => {
      if (stat !== undefined) change.stat = stat
    },
  }
  if (change.type !== 'exchange') return [end]
  const other: End = {
    path: change.other,
    put: (stat) => {
      if (stat !== undefined) change.otherStat = stat
    },
  }
  return [end, other]
}

/** Without memory or descriptors nobody can look; what has happened is told all the same. */
async function unlessShort<T>(looked: Promise<T>): Promise<T | undefined> {
  try {
    return await looked
  } catch (error) {
    if (!isShortage(error)) throw error
    return undefined
  }
}
