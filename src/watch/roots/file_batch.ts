import { basename, dirname, join } from 'node:path'
import { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import type { Looker } from '../diff/snapshot/looker.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Settings } from '../options.ts'
import type { WatchShortage } from '../report/watch_shortage.ts'
import type { Entry } from '../scan/entry.ts'
import type { SourceChoice } from '../source_choice.ts'
import type { SurveyedDirectory, WatchSystem } from '../system.ts'
import { WatchedMount } from '../tree/directory.ts'
import type { Attacher } from './attach.ts'
import { FileRoot } from './file_root.ts'
import { type FileRoots, newsSince } from './file_roots.ts'
import type { Coverings } from './forest/covering.ts'
import { Root, type SeenBefore } from './root.ts'
import { type RootPaths, routeOf } from './root_paths.ts'
import { type Adding, renamed, SharedAdding, type Way, watchWays } from './ways.ts'

const NONE: ReadonlyMap<string, boolean> = new Map()

export interface FileBatchParts {
  system: Pick<WatchSystem, 'survey' | 'lookNow'>
  settings: Pick<Settings, 'backend' | 'hash' | 'initial' | 'followRoots'>
  paths: Pick<RootPaths, 'waysOf'>
  looker: Pick<Looker, 'stat'>
  attacher: Pick<Attacher, 'watchMounts'>
  sourceChoice: Pick<SourceChoice, 'insteadOf'>
  inotify: Pick<InotifySource, 'open' | 'instance'>
  files: FileRoots
  coverings: Coverings
  watchShortage: WatchShortage
}

/** What was found behind the watches. */
interface SeenFile {
  readonly root: Root
  readonly entry: Entry
  readonly choice: Choice
}

/**
 * Attaches roots that are files and are given together: what thousands of paths have in common is asked once, where one by one each takes a millisecond. It attaches only
 * those that are as one expects: whatever is special about a file is left to {@link Attacher}, which says what is wrong with it.
 */
export class FileBatch {
  readonly #parts: FileBatchParts

  constructor(parts: FileBatchParts) {
    this.#parts = parts
  }

  /** Those of these paths that lead to files of which inotify tells all, for all that can be seen in this turn; and whether they are symlinks. */
  filesAmong(paths: readonly string[]): ReadonlyMap<string, boolean> {
    const { system, settings } = this.#parts
    const files = new Map<string, boolean>()
    if (settings.backend === 'poll' || paths.length < 2) return NONE
    const [kindAt, kindBehind] = [system.lookNow(false), system.lookNow(true)]
    for (const path of paths) {
      const own = kindAt(path)
      const isLink = own === 'symlink' && settings.followRoots
      const kind = isLink ? kindBehind(path) : own
      if (kind !== undefined && kind !== 'missing' && kind !== 'directory') files.set(path, isLink)
    }
    // One alone has nothing in common with others.
    return files.size < 2 ? NONE : files
  }

  /**
   * New roots at these paths, watched and present: those that could be attached. Each is looked at behind its watches, and has to lead over the same then: of all that is done to it
   * from then on there are events.
   *
   * @param areLinks see {@link filesAmong}
   * @param before what was at a path when watch() was called, if that is known: what has become of it since is told
   */
  async attach(
    paths: readonly string[],
    areLinks: ReadonlyMap<string, boolean>,
    before: (path: string) => SeenBefore | undefined,
  ): Promise<Root[]> {
    const { attacher, coverings, files, settings } = this.#parts
    const roots = coverings.uninvolved(paths).map((path) => {
      const root = new Root(path)
      root.file = new FileRoot(path, settings)
      return root
    })
    if (roots.length === 0) return []
    // Before anybody looks, so that what is mounted behind that is told.
    await attacher.watchMounts()
    const seen = await this.#see(roots, areLinks).catch((error: unknown): SeenFile[] => {
      // Who attaches them one by one can say what is short, or have them polled.
      if (error instanceof InotifyError) return []
      throw error
    })
    const attached = seen.map((each) => this.#begin(each, before(each.root.path)))
    // Not sooner: they may have been the first to have the watches that others were given by now.
    for (const root of roots) if (!root.isPresent) files.remove(root)
    return attached
  }

  /** Watches the hops of these, and looks at them behind that. Those that are as one expects. */
  async #see(roots: readonly Root[], areLinks: ReadonlyMap<string, boolean>): Promise<SeenFile[]> {
    const { system, looker, inotify, paths } = this.#parts
    inotify.open()
    const instance = inotify.instance as Adding
    const groups = groupsOf(roots, areLinks)
    const samples = groups.map(([{ path }]) => ({ path, isLink: areLinks.get(path) === true }))
    const adding = new SharedAdding(instance)
    const ways = await paths.waysOf(samples)
    const watched = groups.map((group, i) => this.#watch(group, ways[i] as Way, adding, instance))
    const now = await paths.waysOf(samples)
    const directories = await system.survey([...new Set(now.flatMap(directoriesOf))])
    const again = new SharedAdding(instance)
    const sought = watched.flatMap(({ some, route }, i) => {
      const way = now[i] as Way
      const place = placeAlong(way, directories)
      if (place === undefined || routeOf(way, watchWays(way, true, again).watched) !== route) return []
      return some.flatMap((root) => {
        const realPath = root.way?.realPath ?? root.path
        return place.mounted.has(basename(realPath)) ? [] : [{ root, realPath, choice: place.choice }]
      })
    })
    const entries = await looker.stat(sought.map(({ realPath }) => realPath))
    return sought.flatMap((each, i) => {
      const entry = entries[i]
      return this.#isFile(entry) ? [{ ...each, entry }] : []
    })
  }

  /** Watches roots that lead over the same as the first of them, but for the last name. Those that could be watched, and the route of the first. */
  #watch(
    [first, ...others]: Group,
    way: Way,
    adding: Adding,
    inotify: Adding,
  ): { some: Root[]; route: string } {
    const along = watchWays(way, true, adding)
    const some =
      along.refused !== undefined
        ? []
        : [first, ...others].filter((root) => {
            const name = basename(root.path)
            const realPath = root === first ? way.realPath : join(dirname(way.realPath), name)
            const hops = root === first ? along : renamed(along, name)
            return isAdded(() =>
              this.#parts.files.watchAlong(root, { ...way, path: root.path, realPath }, hops, inotify),
            )
          })
    return { some, route: routeOf(way, along.watched) }
  }

  /** Without a name it may be the mount of a file that was replaced. */
  #isFile(entry: Entry | InotifyError | null | undefined): entry is Entry {
    if (entry == null || entry instanceof InotifyError || entry.kind === 'directory') return false
    const isOther = entry.kind === 'symlink' && this.#parts.settings.followRoots
    return !isOther && entry.stat !== undefined && entry.stat.nlink > 0
  }

  #begin({ root, entry, choice: chosen }: SeenFile, before: SeenBefore | undefined): Root {
    const { files, settings, sourceChoice, watchShortage } = this.#parts
    const choice = sourceChoice.insteadOf(chosen)
    const file = root.file as FileRoot
    root.mount = new WatchedMount(choice.backend, choice.why, 0)
    root.realPath = root.way?.realPath ?? root.path
    file.begin(entry)
    watchShortage.end()
    const news = settings.initial ? 'create' : before && newsSince(root, before)
    if (news !== undefined) files.tell(file, news, 0, 'rescan')
    root.appear()
    return root
  }
}

/** Files of one directory, by the same path; or a symlink by itself. */
type Group = [Root, ...Root[]]

function groupsOf(roots: readonly Root[], areLinks: ReadonlyMap<string, boolean>): Group[] {
  const groups = new Map<string, Group>()
  for (const root of roots) {
    const key = areLinks.get(root.path) ? root.path : `${dirname(root.path)}/`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [root])
    else group.push(root)
  }
  return [...groups.values()]
}

/** By what a file is watched, and which names beside it are mounts. undefined: inotify does not tell all of its way. */
function placeAlong(
  way: Way,
  directories: ReadonlyMap<string, SurveyedDirectory>,
): SurveyedDirectory | undefined {
  const along = directoriesOf(way).map((path) => directories.get(path))
  const [first, last] = [along[0], along.at(-1)]
  // What a '..' leaves again has to be a directory, which no look at the end shows.
  if (first === undefined || last === undefined || along.includes(undefined) || way.left.length > 0)
    return undefined
  return { ...last, choice: first.choice }
}

function directoriesOf({ links, realPath }: Way): string[] {
  return [...links.map((link) => dirname(link.path)), dirname(realPath)]
}

/** Whether there is something, and it is not refused. */
function isAdded(add: () => number | undefined): boolean {
  try {
    return add() !== undefined
  } catch (error) {
    if (error instanceof InotifyError) return false
    throw error
  }
}
