import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import { pathOf } from '../../name_key.ts'
import { isLimit, isRefused, staleMountError } from '../report/watch_error.ts'
import { type Remembered, savedFile } from '../saved/since.ts'
import type { Entry } from '../scan/entry.ts'
import type { SurveyedDirectory } from '../system.ts'
import { WatchedMount } from '../tree/directory.ts'
import { type FileNews, FileRoot } from './file_root.ts'
import { type FileRoots, newsSince } from './file_roots.ts'
import type { ForestContext } from './forest/context.ts'
import { Root, type SeenBefore } from './root.ts'
import { routeOf } from './root_paths.ts'
import { type Adding, PathWatchCache, pollInstead, type Way, watchWays } from './ways.ts'

const NONE: ReadonlyMap<string, boolean> = new Map()

/** A file that was looked at after its watches had been added. */
interface SeenFile {
  readonly root: Root
  readonly entry: Entry
  readonly choice: Choice
}

/**
 * Attaches files that are roots: one by one, or those together that are given together. Thousands of paths have a directory in common, which is then resolved and
 * watched once; one by one each file takes a millisecond. Anything special about a file is left to be attached by itself, which says what is wrong.
 */
export class FileAttacher {
  readonly #context: ForestContext
  readonly #files: FileRoots

  constructor(context: ForestContext, files: FileRoots) {
    this.#context = context
    this.#files = files
  }

  /** Attaches a file, which is compared with what it was before it was lost, or when it was saved. */
  async attach(root: Root, mount: WatchedMount, saved?: Remembered): Promise<void> {
    const { settings, forest, since } = this.#context
    forest.drop(root)
    if (saved?.root.kind === 'directory') since?.refuseKind(root.path, saved)
    const fromSaved = savedFile(saved)
    const wasThere = root.file !== undefined || fromSaved !== undefined
    const isNew = !wasThere && root.before === undefined
    root.file ??= new FileRoot(root.path, settings)
    if (fromSaved !== undefined) root.file.begin(fromSaved)
    // The watches of the file take the place of those that awaited it.
    root.isAwaited = false
    const found = await this.#watchFile(root, mount, wasThere)
    const news = found === 'create' && root.before !== undefined ? newsSince(root, root.before) : found
    if (news === 'lost') {
      const isStale = root.file.reason === 'stale'
      // The next entry at the path may be a directory.
      if (isNew && !isStale) {
        this.#context.paths.leave(root)
        root.file = undefined
      }
      throw isStale
        ? staleMountError(root.path)
        : new InotifyError({ errno: 'ENOENT', syscall: 'stat', path: root.path })
    }
    const isInitial = settings.initial || since?.isOpen
    const isNews = news !== undefined && (!isNew || isInitial || root.absence !== undefined)
    if (isNews) this.#files.tell(root.file, news, 0, fromSaved === undefined ? 'rescan' : 'snapshot')
    root.appear()
  }

  /** @param wasThere true: the file could be read once, and is polled if it may not be read any more; so is a file that may be read, and not watched */
  async #watchFile(root: Root, mount: WatchedMount, wasThere: boolean): Promise<FileNews> {
    const { sourceChoice } = this.#context
    try {
      return await this.#files.attach(root)
    } catch (error) {
      const mayBePolled = isLimit(error) || (isRefused(error) && (wasThere || (await isReadable(root.path))))
      if (!mount.usesInotify || !mayBePolled || !sourceChoice.mayFallBack) throw error
      pollInstead(this.#context, mount, root.path, error)
      return await this.#files.attach(root)
    }
  }

  /** Returns the paths that lead to files on mounts where inotify reports every change, each with whether it is a symlink to be followed. Looks within this turn. */
  filesAmong(paths: readonly string[]): ReadonlyMap<string, boolean> {
    const { system, settings, since } = this.#context
    const files = new Map<string, boolean>()
    // A file is compared with what was saved of it by itself.
    if (settings.backend === 'poll' || since !== undefined || paths.length < 2) return NONE
    const kindAt = system.lookNow()
    for (const path of paths) {
      const own = kindAt(path, false)
      const isLink = own === 'symlink' && settings.followRoots
      const kind = isLink ? kindAt(path, true) : own
      if (kind !== undefined && kind !== 'missing' && kind !== 'directory') files.set(path, isLink)
    }
    // A single file has nothing in common with others.
    return files.size < 2 ? NONE : files
  }

  /**
   * Returns new roots, watched and present, for the paths that could be attached. Each path is resolved again after its watches have been added, and has to
   * lead over the same hops: from then on every change has an event.
   *
   * @param areLinks see {@link filesAmong}
   * @param before returns the file at a path when watch() was called, if that is known: its changes since are told
   */
  async attachTogether(
    paths: readonly string[],
    areLinks: ReadonlyMap<string, boolean>,
    before: (path: string) => SeenBefore | undefined,
  ): Promise<Root[]> {
    const { coverings, settings } = this.#context
    const roots = paths
      .map((path) => new Root(path))
      .filter((root) => coverings.whoCovers(root) === undefined)
    for (const root of roots) root.file = new FileRoot(root.path, settings)
    if (roots.length === 0) return []
    const seen = await this.#see(roots, areLinks).catch((error: unknown): SeenFile[] => {
      // The look at each by itself says what is short, or has it polled.
      if (error instanceof InotifyError) return []
      throw error
    })
    const attached = seen.map((each) => this.#begin(each, before(each.root.path)))
    // Comes last: the watches of those left out may be shared with roots that were attached.
    for (const root of roots) if (!root.isPresent) this.#context.paths.leave(root)
    return attached
  }

  /** Watches the hops of these roots, then looks at the files. Returns the plain ones. */
  async #see(roots: readonly Root[], areLinks: ReadonlyMap<string, boolean>): Promise<SeenFile[]> {
    const { system, looker, inotify, paths } = this.#context
    const instance = inotify.open()
    const asked = roots.map(({ path }) => ({ path, isLink: areLinks.get(path) === true }))
    const ways = await paths.waysOf(asked)
    const adding = new PathWatchCache(instance)
    const routes = roots.map((root, i) => this.#watch(root, ways[i] as Way, adding, instance))
    const now = await paths.waysOf(asked)
    const directories = await system.survey([...new Set(now.flatMap(directoriesOf))])
    const again = new PathWatchCache(instance)
    const sought = roots.flatMap((root, i) => {
      const way = now[i] as Way
      const { realPath } = way
      const place = placeAlong(way, directories)
      if (place === undefined || place.mounted.has(basename(realPath))) return []
      const isSame = routeOf(way, watchWays(way, true, again).watched) === routes[i]
      return isSame ? [{ root, realPath, choice: place.choice }] : []
    })
    const entries = await looker.stat(sought.map(({ realPath }) => realPath))
    return sought.flatMap((each, i) => {
      const entry = entries[i]
      return this.#isFile(entry) ? [{ ...each, entry }] : []
    })
  }

  /** Watches a file. Returns the route to it; undefined: nothing is there, or the kernel refuses a watch. */
  #watch(root: Root, way: Way, adding: PathWatchCache, inotify: Adding): string | undefined {
    const along = watchWays(way, true, adding)
    if (along.refused !== undefined) return undefined
    try {
      const isThere = this.#context.paths.enterFile(root, way, along, inotify)
      return isThere ? routeOf(way, along.watched) : undefined
    } catch (error) {
      if (error instanceof InotifyError) return undefined
      throw error
    }
  }

  /** Returns true for a plain file. A file without a link count may be the mount of a file that was replaced. */
  #isFile(entry: Entry | InotifyError | null | undefined): entry is Entry {
    if (entry == null || entry instanceof InotifyError || entry.kind === 'directory') return false
    const isOther = entry.kind === 'symlink' && this.#context.settings.followRoots
    return !isOther && entry.stat !== undefined && entry.stat.nlink > 0
  }

  #begin({ root, entry, choice: chosen }: SeenFile, before: SeenBefore | undefined): Root {
    const { settings, sourceChoice, watchShortage } = this.#context
    const file = root.file as FileRoot
    root.mount = new WatchedMount(sourceChoice.insteadOf(root.path, chosen))
    file.begin(entry)
    watchShortage.end()
    const news = settings.initial ? 'create' : before && newsSince(root, before)
    if (news !== undefined) this.#files.tell(file, news, 0, 'rescan')
    root.appear()
    return root
  }
}

const isReadable = (path: string) =>
  access(pathOf(path), constants.R_OK).then(
    () => true,
    () => false,
  )

/** Returns the source for the files at the end of a way, and the mount points beside them. undefined: inotify does not report every change on the way. */
function placeAlong(
  way: Way,
  directories: ReadonlyMap<string, SurveyedDirectory>,
): SurveyedDirectory | undefined {
  const along = directoriesOf(way).map((path) => directories.get(path))
  const [first, last] = [along[0], along.at(-1)]
  // A '..' leads on only behind a directory, which no look at the end of the way shows.
  if (first === undefined || last === undefined || along.includes(undefined) || way.left.length > 0)
    return undefined
  return { ...last, choice: first.choice }
}

function directoriesOf({ links, realPath }: Way): string[] {
  return [...links.map((link) => dirname(link.path)), dirname(realPath)]
}
