import { realpath } from 'node:fs/promises'
import { constants } from 'node:os'
import { debuglog } from 'node:util'
import { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import type { MountWatch } from '../../mounts/mount_watch.ts'
import type { SurveyTerms } from '../diff/diff_options.ts'
import type { Surveyor } from '../diff/rescan.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Settings } from '../options.ts'
import type { Change } from '../report/change.ts'
import { asWatchError, isLimit, openError, staleMountError } from '../report/watch_error.ts'
import { CLOCK_SLACK_MS } from '../scan/clock.ts'
import type { RootFinding } from '../scan/root_finding.ts'
import type { WatchSystem } from '../system.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { Territory } from '../tree/watched_mount.ts'
import { type FileNews, FileRoot } from './file_root.ts'
import type { FileRoots } from './file_roots.ts'
import { Hints } from './path_watches.ts'
import type { Root } from './root.ts'
import { watchWays } from './ways.ts'

export interface AttachingParts {
  settings: Settings
  system: WatchSystem
  tree: Tree
  surveyor: Surveyor
  files: FileRoots
  mounts: MountWatch
  inotify(): InotifySource | undefined
  /** Sees to it that there is an inotify instance. Throws InotifyError. */
  openInotify(): void
  terms(terms: Partial<SurveyTerms>): SurveyTerms
  /** Removes watches, unless something else needs them. */
  retire(wds: Iterable<number>): void
  report(changes: Change[]): void
  trouble(error: unknown): void
}

const trace = debuglog('inotify-bridge')

/** What the path of a root leads to: a directory, which is surveyed, or a file; by which source each is watched; and that it is not any more. */
export class Attaching {
  readonly #parts: AttachingParts
  readonly #roots = new Map<Directory, Root>()
  /** What tells that a root may be another directory: see ways.ts. */
  readonly ways = new Hints<Root>()

  constructor(parts: AttachingParts) {
    this.#parts = parts
  }

  /** The root whose directory this is. */
  rootOf(top: Directory): Root | undefined {
    return this.#roots.get(top)
  }

  /** What the path leads to now. Rejects as it cannot be opened, listed or watched. */
  async attach(root: Root): Promise<void> {
    const { settings, tree, mounts, terms: termsOf, report, trouble } = this.#parts
    const choice = await this.#choose(root.path)
    const isRestored = root.top !== undefined
    const territory = this.#territoryOf(root, choice)
    if (territory.isWatched) this.#openFor(territory, root)
    if (root.file !== undefined) return await this.#attachFile(root, territory)
    if (root.top === undefined) {
      root.top = tree.addRoot(root.path, territory)
      this.#roots.set(root.top, root)
    }
    territory.base = root.top
    const terms = isRestored
      ? termsOf({ since: root.goodUntil - CLOCK_SLACK_MS, byName: true, withStat: true })
      : termsOf({ silent: !settings.initial && root.absence === undefined })
    const told = terms.silent || isRestored ? undefined : report
    let finding = await this.#survey(root, terms, told)
    const refused = territory.uncovered.get(root.top)
    if (finding.error === 0 && refused !== undefined) {
      if (!isLimit(refused) || settings.backend !== 'auto') throw refused
      this.#pollFor(territory, root, refused)
      finding = await this.#survey(root, termsOf({ silent: terms.silent }))
    }
    // What was a directory is not restored by a file.
    if (finding.error === -constants.errno.ENOTDIR && !isRestored)
      return await this.#attachFile(root, territory)
    if (finding.error !== 0) throw openError(finding.error, root.path)
    root.identity = finding.identity
    root.realPath = await realpath(root.path).catch(() => root.path)
    await this.#watchWays(root)
    // What it would tell, sync() finds.
    await mounts.open().catch(trouble)
    root.isPresent = true
    root.absence = undefined
    trace('%s: %s, because %s', root.path, territory.backend, territory.why)
  }

  /** Nothing is believed of it any more, and none of its watches is needed. */
  detach(root: Root): void {
    if (root.file !== undefined) this.#parts.files.remove(root.file)
    this.#parts.retire(this.ways.set(root, []))
    this.#dropTop(root)
  }

  /** The source for what is mounted below a root, or a link there leads to; it may be no place for files. */
  async chooseBelow(path: string): Promise<Choice | { refused: Error }> {
    const type = await this.#parts.system.pseudoType(path)
    if (type === undefined) return await this.#choose(path)
    const hint = `${type} tells of no changes; watch it as a root of its own to have it polled`
    return { refused: new InotifyError({ errno: 'ENOTSUP', syscall: 'watch', path, hint }) }
  }

  async #choose(path: string): Promise<Choice> {
    const chosen = await this.#parts.system.choose(path)
    const { backend } = this.#parts.settings
    if (backend === 'auto') return chosen
    return { backend, why: `asked for, where ${chosen.backend} would have been chosen (${chosen.why})` }
  }

  async #survey(root: Root, terms: SurveyTerms, told?: (changes: Change[]) => void): Promise<RootFinding> {
    const { surveyor } = this.#parts
    const top = root.top as Directory
    const findings = terms.byName
      ? (await surveyor.reconcile([top], terms)).roots
      : await surveyor.survey([top], terms, told)
    return findings.get(top) ?? { error: -constants.errno.ESTALE, isShort: false, identity: '' }
  }

  /** The territory of its own mount; chosen anew when it is restored. */
  #territoryOf(root: Root, { backend, why }: Choice): Territory {
    const known = root.top?.territory ?? [...root.territories][0]
    if (known === undefined) {
      const territory = new Territory(backend, why, 0)
      root.territories.add(territory)
      return territory
    }
    known.backend = backend
    known.why = why
    known.limit = undefined
    known.uncovered.clear()
    known.leftover.clear()
    return known
  }

  /** There must be an inotify instance; without one it is polled, if that is ours to decide. */
  #openFor(territory: Territory, root: Root): void {
    try {
      this.#parts.openInotify()
    } catch (error) {
      if (this.#parts.settings.backend !== 'auto' || !isLimit(error)) throw error
      this.#pollFor(territory, root, error)
    }
  }

  #pollFor(territory: Territory, root: Root, error: InotifyError): void {
    const limit = asWatchError(error, root.path) as InotifyError
    territory.backend = 'poll'
    territory.why = `polled for want of a watch (${limit.code})`
    territory.limit = limit
    this.#parts.trouble(limit)
  }

  /** What there is no watch for is found by sync(), or by the next event of the root. */
  async #watchWays(root: Root): Promise<void> {
    const inotify = this.#parts.inotify()?.inotify
    if (inotify === undefined || !root.top?.territory.isWatched) return
    const ways = await watchWays(root.path, false, inotify).catch((error) => {
      trace('%s: %s', root.path, error)
      return []
    })
    this.#parts.retire(this.ways.set(root, ways))
  }

  /** A file, which is compared with what it was before it was lost. */
  async #attachFile(root: Root, territory: Territory): Promise<void> {
    const { settings, report } = this.#parts
    const isNew = root.file === undefined
    this.#dropTop(root)
    root.file ??= new FileRoot(root.path, settings.hash)
    const news = await this.#watchFile(root, root.file, territory)
    if (news === 'lost') throw new InotifyError({ errno: 'ENOENT', syscall: 'stat', path: root.path })
    if (news === 'stale') throw staleMountError(root.path)
    const isTold = news !== undefined && (!isNew || settings.initial || root.absence !== undefined)
    const { path, kind } = root.file
    if (isTold) report([{ type: news, path, kind, mask: 0, source: 'rescan' }])
    root.isPresent = true
    root.absence = undefined
  }

  async #watchFile(root: Root, file: FileRoot, territory: Territory): Promise<FileNews> {
    const { files, settings } = this.#parts
    try {
      return await files.attach(file, territory)
    } catch (error) {
      if (!territory.isWatched || !isLimit(error) || settings.backend !== 'auto') throw error
      this.#pollFor(territory, root, error)
      return await files.attach(file, territory)
    }
  }

  #dropTop(root: Root): void {
    const { top } = root
    if (top === undefined) return
    this.#parts.tree.drop(top)
    this.#roots.delete(top)
    root.top = undefined
  }
}
