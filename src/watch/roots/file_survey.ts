import { basename, dirname } from 'node:path'
import type { Choice } from '../../mounts/filesystems.ts'
import type { Resolved } from '../../mounts/syscalls/symlinks.ts'
import type { Looker } from '../diff/snapshot/looker.ts'
import type { Settings } from '../options.ts'
import type { Entry } from '../scan/entry.ts'
import type { SurveyedDirectory, WatchSystem } from '../system.ts'
import type { Way } from './ways.ts'

/** Where a path leads but for the last name, and by what it is to be watched: thousands of files may have the same. */
export interface Place extends Pick<Resolved, 'links' | 'left'> {
  readonly choice: Choice
  /** Of the directory, without symlinks. */
  readonly realPath: string
  /** Names in it that are mounts of their own. */
  readonly mounted: ReadonlySet<string>
}

/** A file that was seen together with others. */
export interface SeenFile {
  readonly path: string
  readonly place: Place
  readonly name: string
  readonly entry: Entry
}

/** By their paths. */
export type SeenFiles = ReadonlyMap<string, SeenFile>

interface Sought extends Omit<SeenFile, 'entry'> {}

export interface FileSurveyParts {
  system: Pick<WatchSystem, 'survey' | 'followTogether'>
  looker: Pick<Looker, 'lookInto'>
  settings: Pick<Settings, 'followRoots'>
}

/**
 * Looks at thousands of paths of files at once. What they have in common is asked once: of each directory where its path leads and on which mount it
 * lies, of all together the mount table and what is at their names. One by one that is a millisecond each.
 */
export class FileSurvey {
  readonly #parts: FileSurveyParts

  constructor(parts: FileSurveyParts) {
    this.#parts = parts
  }

  /**
   * Those of these paths that lead to plain files, or to symlinks that are not followed, of which inotify tells all. The others are to be looked at one by one: what is missing, may not be
   * read, is polled, is mounted by itself or has no name any more. No mount is asked that may not answer.
   */
  async look(paths: readonly string[]): Promise<SeenFiles> {
    const parents = paths.map(dirname)
    const directories = await this.#parts.system.survey([...new Set(parents)])
    const places = new Map([...directories].map(([path, directory]) => [path, placeOf(directory)]))
    const found = new Map<string, SeenFile>()
    const links = await this.#see(
      paths.flatMap((path, i) => {
        const place = places.get(parents[i] as string)
        return place === undefined ? [] : { path, place, name: basename(path) }
      }),
      found,
    )
    if (links.length > 0) await this.#lookBehind(links, found)
    return found
  }

  /** The same of paths at which there are symlinks. */
  async #lookBehind(paths: readonly string[], found: Map<string, SeenFile>): Promise<void> {
    const { system } = this.#parts
    const resolved = await system.followTogether(paths)
    const ways = resolved.map((each, i) => ({ ...each, path: paths[i] as string }))
    const directories = await system.survey([...new Set(ways.flatMap(directoriesOf))])
    const sought = ways.flatMap((way) => {
      const place = placeAlong(way, directories)
      return place === undefined ? [] : { path: way.path, place, name: basename(way.realPath) }
    })
    await this.#see(sought, found)
  }

  /** Finds those of these that are plain files. The answer: the paths of those that are symlinks to be followed. */
  async #see(sought: readonly Sought[], found: Map<string, SeenFile>): Promise<string[]> {
    const names = new Map<string, string[]>()
    // What a '..' leaves again has to be a directory, which no look at the end shows.
    const plain = sought.filter(({ place, name }) => place.left.length === 0 && !place.mounted.has(name))
    for (const { place, name } of plain) {
      const some = names.get(place.realPath)
      if (some === undefined) names.set(place.realPath, [name])
      else some.push(name)
    }
    const { looker, settings } = this.#parts
    const entries = await looker.lookInto(names)
    const links: string[] = []
    for (const { path, place, name } of plain) {
      const entry = entries.get(place.realPath)?.get(name)
      if (entry?.kind === 'symlink' && settings.followRoots) links.push(path)
      else if (entry !== undefined && isFile(entry)) found.set(path, { path, place, name, entry })
    }
    return links
  }
}

/** The whole way of its path. */
export function wayTo({ path, place, name }: Sought): Way {
  const { realPath, links, left } = place
  return { path, realPath: `${realPath === '/' ? '' : realPath}/${name}`, links, left }
}

/** Whether another look has found that a path leads over the same as before, on the same mounts. */
export function isSamePlace(a: Place, b: Place): boolean {
  return (
    a.realPath === b.realPath &&
    a.choice.why === b.choice.why &&
    a.links.length === b.links.length &&
    a.links.every(({ path, to }, i) => path === b.links[i]?.path && to === b.links[i]?.to)
  )
}

function placeOf({ choice, resolved, mounted }: SurveyedDirectory): Place {
  const { realPath, links, left } = resolved
  return { choice, realPath, links, left, mounted }
}

/** undefined: what the way leads over lies somewhere of which inotify does not tell all. */
function placeAlong(way: Way, directories: ReadonlyMap<string, SurveyedDirectory>): Place | undefined {
  const along = directoriesOf(way).map((path) => directories.get(path))
  const [first] = along
  const last = along.at(-1)
  if (first === undefined || last === undefined || along.includes(undefined)) return undefined
  const { links, left, realPath } = way
  return { choice: first.choice, realPath: dirname(realPath), links, left, mounted: last.mounted }
}

function directoriesOf({ links, realPath }: Way): string[] {
  return [...links.map((link) => dirname(link.path)), dirname(realPath)]
}

/** Without a name it may be the mount of a file that was replaced. */
function isFile({ kind, stat }: Entry): boolean {
  return kind !== 'directory' && stat !== undefined && stat.nlink > 0
}
