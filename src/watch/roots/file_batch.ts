import { InotifyError } from '../../errors.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Settings } from '../options.ts'
import type { Reporter } from '../report/reporter.ts'
import type { WatchShortage } from '../report/watch_shortage.ts'
import type { SourceChoice } from '../source_choice.ts'
import { WatchedMount } from '../tree/directory.ts'
import type { Attacher } from './attach.ts'
import { FileRoot } from './file_root.ts'
import { type FileRoots, newsSince } from './file_roots.ts'
import { FileSurvey, type FileSurveyParts, type SeenFile, type SeenFiles, wayTo } from './file_survey.ts'
import type { Coverings } from './forest/covering.ts'
import { Root, type SeenBefore } from './root.ts'
import { type SeenAndWatched, SettledPlaces, SharedWays } from './shared_ways.ts'
import { type Adding, MOST_TIMES } from './ways.ts'

const NONE: SeenFiles = new Map()

export interface FileBatchParts extends FileSurveyParts {
  settings: Pick<Settings, 'backend' | 'hash' | 'initial' | 'followRoots'>
  attacher: Pick<Attacher, 'watchMounts'>
  sourceChoice: Pick<SourceChoice, 'insteadOf'>
  inotify: Pick<InotifySource, 'open' | 'instance'>
  files: FileRoots
  coverings: Coverings
  watchShortage: WatchShortage
  reporter: Pick<Reporter, 'report'>
}

/** A root that is to be a file, and what was seen and watched of it last. */
interface Candidate extends SeenAndWatched {
  readonly root: Root
}

/**
 * Roots that are files and are given together are attached together: see {@link FileSurvey}. This has only those that are as one expects: what is in any
 * way special is left to {@link Attacher}, one by one, which says what is wrong with it.
 */
export class FileBatch {
  readonly #parts: FileBatchParts
  readonly #survey: FileSurvey

  constructor(parts: FileBatchParts) {
    this.#parts = parts
    this.#survey = new FileSurvey(parts)
  }

  /** Those of these paths that may be attached together, for all that can be seen before they are watched. */
  async look(paths: readonly string[]): Promise<SeenFiles> {
    const { attacher, settings } = this.#parts
    if (settings.backend === 'poll' || paths.length < 2) return NONE
    // Before anybody looks, so that what is mounted behind that is told.
    await attacher.watchMounts()
    // What is short, who looks at them one by one finds as well.
    return await this.#survey.look(paths).catch(() => NONE)
  }

  /**
   * New roots at these paths, watched and present: those that could be attached. As where they are attached one by one, a way is watched until it is found to
   * be the same when it is watched. So what is seen then was seen behind the watches, and of all that is done to it from then on there are events.
   *
   * @param first what {@link look} has found at them
   * @param before what was at a path when watch() was called, if that is known: what has become of it since is told
   */
  async attach(
    paths: readonly string[],
    first: SeenFiles,
    before: (path: string) => SeenBefore | undefined,
  ): Promise<Root[]> {
    const { coverings, files, settings } = this.#parts
    const inotify = paths.length === 0 ? undefined : this.#openInotify()
    if (inotify === undefined) return []
    const fresh = coverings.uninvolved(paths).map((path) => {
      const root = new Root(path)
      root.file = new FileRoot(path, settings)
      return { root }
    })
    let watched = this.#watch(fresh, first, new SharedWays(inotify), inotify)
    const attached: Root[] = []
    for (let i = 1; i < MOST_TIMES && watched.length > 0; i++) {
      const now = await this.look(watched.map(({ root }) => root.path))
      const ways = new SharedWays(inotify)
      const settled = new SettledPlaces(ways, inotify, settings.followRoots)
      const others: Candidate[] = []
      for (const candidate of watched) {
        const seen = now.get(candidate.root.path)
        if (seen !== undefined && settled.has(candidate, seen))
          attached.push(this.#begin(candidate, seen, before(seen.path)))
        else others.push(candidate)
      }
      watched = this.#watch(others, now, ways, inotify)
    }
    for (const { root } of watched) files.remove(root)
    return attached
  }

  #openInotify(): Adding | undefined {
    const { inotify } = this.#parts
    try {
      inotify.open()
    } catch {
      // Who attaches them one by one can say so, or poll them.
      return undefined
    }
    return inotify.instance
  }

  /** Watches these as they were seen. Those that were not, and those that cannot be watched, are left out. */
  #watch(
    candidates: ReadonlyArray<Pick<Candidate, 'root'>>,
    seenFiles: SeenFiles,
    ways: SharedWays,
    inotify: Adding,
  ): Candidate[] {
    const { files } = this.#parts
    const watched: Candidate[] = []
    const leftOut: Root[] = []
    for (const { root } of candidates) {
      const seen = seenFiles.get(root.path)
      const along = seen && ways.watch(seen)
      const own = along && tryTo(() => files.watchAlong(root, wayTo(seen), along, inotify))
      if (own !== undefined && seen !== undefined && along !== undefined)
        watched.push({ root, seen, along, own })
      else leftOut.push(root)
    }
    // Not sooner: they may have been the first to have the watches that others were given by now.
    for (const root of leftOut) files.remove(root)
    return watched
  }

  #begin({ root }: Candidate, seen: SeenFile, before: SeenBefore | undefined): Root {
    const { watchShortage, coverings, settings, reporter, sourceChoice } = this.#parts
    const choice = sourceChoice.insteadOf(seen.place.choice)
    const mount = new WatchedMount(choice.backend, choice.why, 0)
    const file = root.file as FileRoot
    root.mount = mount
    root.realPath = wayTo(seen).realPath
    file.begin(seen.entry)
    if (mount.usesInotify) watchShortage.end()
    const news = settings.initial ? 'create' : before && newsSince(root, before)
    const { path, kind } = file
    if (news !== undefined && news !== 'lost' && !coverings.tellsOf(file))
      reporter.report([{ type: news, path, kind, mask: 0, source: 'rescan' }])
    root.appear()
    return root
  }
}

/** undefined: it was refused. */
function tryTo<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (error instanceof InotifyError) return undefined
    throw error
  }
}
