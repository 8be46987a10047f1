import { IN_ATTRIB, IN_CLOSE_WRITE, IN_MODIFY } from '../../inotify/constants.ts'
import { isWithin } from '../../mounts/mountinfo.ts'
import type { Source } from '../report/change.ts'
import type { ForestContext } from '../roots/forest/context.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { Hints, Watcher } from '../roots/path_watches.ts'
import { watchFile } from '../roots/ways.ts'
import { alterationOfFile, type Entry } from '../scan/entry.ts'
import type { Directory } from '../tree/directory.ts'

/** A file that is mounted over a name in a directory of the tree: the directory's watch tells nothing of writes to that file. */
interface MountedFile extends Watcher {
  readonly parent: Directory
  readonly name: string
  /** The mount point, without symlinks. */
  readonly point: string
  /** The entry as the last poll has seen it, where events do not tell of all writes; undefined: the file is not polled. */
  seen: Entry | null | undefined
}

/** Files that are mounted by themselves (single-file volumes, a container's /etc/hosts): each has its own watch, or is polled where its mount has no events. */
export class MountedFiles {
  readonly #context: ForestContext
  readonly #links: FollowedLinks
  // By the paths under which they are told.
  #files = new Map<string, MountedFile>()
  #points: readonly string[] | undefined
  #revision = -1
  #lacksSome = false

  constructor(context: ForestContext, links: FollowedLinks) {
    this.#context = context
    this.#links = links
  }

  get arePolled(): boolean {
    for (const { seen } of this.#files.values()) if (seen !== undefined) return true
    return false
  }

  /** Notes that something was mounted or unmounted. */
  onMounts(): void {
    this.#points = undefined
  }

  /** Watches the mounted files that are in the tree by now, and no others. Costs nothing while no directory and no mount has come or gone. */
  async review(): Promise<void> {
    const { tree, system, watches, pathWatches } = this.#context
    const isOther = this.#points === undefined
    if (!isOther && (this.#points?.length === 0 || !(this.#lacksSome || this.#revision !== tree.revision)))
      return
    this.#points ??= system.mountedFiles()
    this.#revision = tree.revision
    const before = this.#files
    this.#files = new Map()
    this.#lacksSome = false
    for (const found of this.#find(this.#points)) {
      const path = tree.pathOf(found.parent, found.name)
      const known = before.get(path)
      const isSame = !isOther && known?.parent === found.parent
      this.#files.set(path, isSame ? known : await this.#watch(found))
    }
    const kept = new Set(this.#files.values())
    for (const file of before.values()) if (!kept.has(file)) watches.retire(pathWatches.set(file, []))
  }

  /** Tells what events say of the files themselves. */
  take(hints: Hints): void {
    for (const file of hints.size === 0 ? [] : this.#files.values()) {
      const mask = (hints.get(file)?.own ?? 0) & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB)
      if (mask !== 0) this.#tell(file, mask === IN_ATTRIB ? 'attrib' : 'modify', mask, 'inotify')
    }
  }

  /** Looks at the files of which no event tells. */
  async poll(): Promise<void> {
    const polled = [...this.#files.values()].filter(({ seen }) => seen !== undefined)
    if (polled.length === 0) return
    const found = await this.#context.looker.stat(polled.map(({ point }) => point))
    for (const [i, file] of polled.entries()) {
      const [before, now] = [file.seen, found[i]]
      if (now === undefined || (now !== null && !('kind' in now))) continue
      file.seen = now
      const altered = before && now ? alterationOfFile(before, now, Number.NEGATIVE_INFINITY) : undefined
      if (altered !== undefined) this.#tell(file, altered, 0, 'poll')
    }
  }

  #tell({ parent, name }: MountedFile, type: 'modify' | 'attrib', mask: number, source: Source): void {
    const { tree, reporter } = this.#context
    const entry = tree.isPresent(parent) ? tree.entriesOf(parent).get(name) : undefined
    if (entry === undefined) return
    reporter.report([{ type, path: tree.pathOf(parent, name), kind: entry.kind, mask, source }])
  }

  /** Returns the places of these mount points in the trees of roots, and behind followed links. */
  *placesOf(points: readonly string[]): Generator<Pick<MountedFile, 'parent' | 'name' | 'point'>> {
    const { forest, tree } = this.#context
    if (points.length === 0) return
    const bases = forest.standing().flatMap(({ isPresent, top: base, realPath }) => {
      return isPresent && base !== undefined ? [{ base, realPath }] : []
    })
    for (const { base, realPath } of [...bases, ...this.#links.ends()])
      for (const point of points) {
        const names = point.slice(realPath.length).split('/').filter(Boolean)
        const name = isWithin(point, realPath) ? names.pop() : undefined
        const parent = name === undefined ? undefined : tree.find(base, names)
        if (name !== undefined && parent !== undefined) yield { parent, name, point }
      }
  }

  *#find(points: readonly string[]): Generator<MountedFile> {
    const { tree, byPath } = this.#context
    for (const place of this.placesOf(points)) {
      const { parent, name } = place
      // Polls look at all entries of a directory.
      if (parent.mount.usesPolling) continue
      const entry = tree.entriesOf(parent).get(name)
      // The file was made just now, and its event is on the way; or it is ignored.
      if (entry === undefined) this.#lacksSome = true
      else if (entry.kind !== 'directory' && !byPath.has(tree.pathOf(parent, name)))
        yield { ...place, watched: [], seen: undefined }
    }
  }

  async #watch(file: MountedFile): Promise<MountedFile> {
    const { sourceChoice, inotify, looker, pathWatches } = this.#context
    const choice = await sourceChoice.chooseBelow(file.point).catch(() => undefined)
    if (choice === undefined || 'refused' in choice) return file
    const wd =
      inotify.instance && choice.backend !== 'poll' ? watchFile(file.point, inotify.instance) : undefined
    if (typeof wd === 'number') pathWatches.set(file, [], wd)
    if (choice.backend === 'inotify' && typeof wd === 'number') return file
    // If the stat fails just now, the next poll says what is there.
    const [seen] = await looker.stat([file.point]).catch(() => [])
    file.seen = seen != null && 'kind' in seen ? seen : null
    return file
  }
}
