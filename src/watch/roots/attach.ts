import { constants } from 'node:os'
import { debuglog } from 'node:util'
import { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import { CLOCK_SLACK_MS } from '../clock.ts'
import { type DiffOptions, RESCAN } from '../diff/diff_options.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { codeOf, isAbsence, isLimit, isMissing, isRefused, openError } from '../report/watch_error.ts'
import type { RootFinding } from '../scan/listing.ts'
import { type Directory, WatchedMount } from '../tree/directory.ts'
import type { FileAttacher } from './file_attacher.ts'
import type { ForestContext } from './forest/context.ts'
import type { SavedRoots } from './forest/saved_roots.ts'
import type { Root } from './root.ts'
import { areSilent } from './silent_ways.ts'
import { pollInstead, type Way } from './ways.ts'

const trace = debuglog('inotify-bridge')

/** The most times that the way to a missing entry is watched, while others make it. */
const MOST_WATCHED = 8

/** Attaches a root to what its path leads to: surveys a directory, or has a file watched, each by its source. Awaits a missing one. */
export class Attacher {
  readonly #context: ForestContext
  readonly #files: FileAttacher
  readonly #savedRoots: SavedRoots
  // The code of the error for which the mount table is not watched.
  #mountTrouble: string | undefined

  constructor(context: ForestContext, files: FileAttacher, savedRoots: SavedRoots) {
    this.#context = context
    this.#files = files
    this.#savedRoots = savedRoots
  }

  /**
   * Attaches what the path leads to now. Rejects if it cannot be opened, listed or watched. A root at whose path there is nothing is awaited from then on,
   * where events tell what comes.
   *
   * @param isSilent true: nothing is told of what is there, whatever `initial` says
   */
  async attach(root: Root, isSilent = false): Promise<void> {
    await this.#attachOrAwait(root, isSilent).finally(() => this.#savedRoots.settle(root))
  }

  async #attachOrAwait(root: Root, isSilent: boolean): Promise<void> {
    let isAwaited = false
    for (let i = 0; ; i++) {
      try {
        return await this.#attach(root, isSilent)
      } catch (error) {
        if (isAwaited && root.isAwaited) {
          if (!isMissing(error)) this.#forget(root)
          throw error
        }
        // An entry that came on the way meanwhile has the way watched once more; in the end, the polls find it.
        if (i === MOST_WATCHED || !(await this.#await(root, error))) throw error
        isAwaited = root.isAwaited
      }
    }
  }

  /**
   * Awaits a root that is absent by this error: watches its hops and, in the nearest directory above that is there, the missing name. Then nobody need look for the
   * root now and then. Returns true if something may be there by now; events tell what comes later, if they can.
   */
  async #await(root: Root, error: unknown): Promise<boolean> {
    if (root.coverer !== undefined) return false
    const { system, paths } = this.#context
    // No inotify event tells of a new mount: the mount table does.
    const inotify = isMissing(error) && (await this.watchMounts()) ? this.#instance() : undefined
    const found = inotify && (await paths.watch(root, 'name', inotify))
    const isWatched = found?.isSettled === true && found.refused === undefined
    // The source that was asked for does not matter here.
    const choose = (path: string) => system.choose(path)
    root.isAwaited = isWatched && !(await areSilent([root.way as Way], system, choose)).includes(true)
    if (!root.isAwaited) this.#forget(root)
    return root.isAwaited || found?.isSettled === false
  }

  /** Gives a missing root back to the polls. Of a lost file the watches stay: their events are hints that the file may be back. */
  #forget(root: Root): void {
    root.isAwaited = false
    if (root.file === undefined) this.#context.paths.leave(root)
  }

  #instance(): InotifyInstance | undefined {
    const { inotify, settings } = this.#context
    if (settings.backend === 'poll') return undefined
    try {
      return inotify.open()
    } catch (error) {
      if (error instanceof InotifyError) return undefined
      throw error
    }
  }

  async #attach(root: Root, isSilent: boolean): Promise<void> {
    const { settings, tree, forest, paths, sourceChoice, since } = this.#context
    if (root.file === undefined && forest.cover(root)) {
      if (!root.isPresent) {
        // Rejects at once, as anywhere, for a path that can never be there.
        await paths.choose(root.path)
        throw openError(-constants.errno.ENOENT, root.path)
      }
      trace('%s: covered by %s', root.path, root.coverer?.path)
      return
    }
    // Watched before the first look, so that later mounts are told.
    await this.watchMounts()
    const choice = await paths.choose(root.path).catch(async (error: unknown) => {
      if (isAbsence(error)) await this.#savedRoots.recall(root)
      throw error
    })
    const isRestored = root.top !== undefined
    const mount = this.#mountOf(root, choice)
    if (mount.usesInotify) this.#openFor(mount, root)
    if (root.file !== undefined) return await this.#files.attach(root, mount)
    const top = root.top ?? forest.plant(root, mount)
    mount.base = top
    const found = isRestored ? undefined : await this.#savedRoots.of(root)
    const comparison = await this.#savedRoots.plant(top, found)
    const saved = found?.root.kind === 'directory' && comparison === undefined ? undefined : found
    const isTold = settings.initial || since?.isOpen || root.absence !== undefined
    const options = isRestored
      ? { ...RESCAN, since: root.consistentUntil - CLOCK_SLACK_MS, matchByName: true, statAll: true }
      : (comparison ?? { ...RESCAN, baseline: isSilent || !isTold, isToldLater: isSilent })
    // Watched before the walk, so that whatever is replaced on the way after it is told.
    await this.follow(root)
    let finding = await this.#scan(root, options)
    const refused = mount.uncovered.get(top)
    if (finding.error === 0 && refused !== undefined) {
      // A directory that can be listed may be read: then only the watch is refused, by SELinux for one.
      if (!(isLimit(refused) || isRefused(refused)) || !sourceChoice.mayFallBack) throw refused
      pollInstead(this.#context, mount, root.path, refused)
      finding = await this.#scan(root, options)
    }
    if (finding.error === 0 ? !mount.usesInotify : !root.isAwaited) this.#context.paths.leave(root)
    // The directory was gone before anybody had looked into it, or nobody could, for want of a descriptor or a watch.
    const isUnseen = tree.entriesOf(top).size === 0 && (!isRestored || root.absence !== undefined)
    // A directory that was known is not restored by a file.
    if (finding.error === -constants.errno.ENOTDIR && (isUnseen || comparison !== undefined))
      return await this.#files.attach(root, mount, saved)
    if (finding.error !== 0) {
      const error = openError(finding.error, root.path)
      if (isUnseen) forest.drop(root)
      else if (saved !== undefined && isAbsence(error)) this.#savedRoots.miss(root, top, saved)
      throw error
    }
    if (saved?.root.kind === 'file') since?.refuseKind(root.path, saved)
    root.identity = finding.identity
    root.appear()
    tree.setLost(top, false)
    trace('%s: %s, because %s', root.path, mount.backend, mount.why)
  }

  /** Returns true if its source is the one that would be chosen now: something may have been mounted at its path between the choice and the first look. */
  async hasItsSource({ path, top, mount = top?.mount }: Root): Promise<boolean> {
    if (mount === undefined || mount.limit !== undefined) return true
    const choice = await this.#context.paths.choose(path).catch(() => undefined)
    return choice === undefined || choice.backend === mount.backend
  }

  /** Watches what a present root needs besides its tree, which was another root's until now. */
  async stand(root: Root): Promise<void> {
    const { rescan } = this.#context
    const top = root.top as Directory
    const found = await rescan.looker.identify([top]).catch(() => undefined)
    const finding = found?.get(top)
    // If the directory cannot be opened now, or is another by now, the next look finds that.
    root.identity = finding?.error === 0 && finding.ino === top.ino ? finding.identity : ''
    await this.follow(root)
  }

  async #scan(root: Root, options: DiffOptions): Promise<RootFinding> {
    const { rescan } = this.#context
    const top = root.top as Directory
    const finding =
      options.matchByName || options.isSaved
        ? (await rescan.reconcile([top], options)).roots.get(top)
        : await rescan.load(top, options)
    return finding ?? { error: -constants.errno.ESTALE, isShort: false, isGone: true, identity: '', ino: 0 }
  }

  /** Returns true if the mount table tells of mounts. If it cannot be had, sync() finds those. The error is told once, not at each look at a lost root. */
  async watchMounts(): Promise<boolean> {
    const { mountWatch, reporter } = this.#context
    const trouble: unknown = await mountWatch.open().catch((error) => error)
    const code = trouble === undefined ? undefined : (codeOf(trouble) ?? String(trouble))
    if (code !== undefined && code !== this.#mountTrouble) reporter.trouble(trouble)
    this.#mountTrouble = code
    return code === undefined
  }

  /** Returns the mount of the root itself; its source is chosen anew when the root is restored. */
  #mountOf(root: Root, choice: Choice): WatchedMount {
    const known = root.top?.mount ?? root.mount
    if (known === undefined) {
      root.mount = new WatchedMount(choice)
      return root.mount
    }
    known.reset()
    return known.follow(choice)
  }

  /** Opens an inotify instance. Without one the root is polled, if the backend is 'auto'. */
  #openFor(mount: WatchedMount, root: Root): void {
    try {
      this.#context.inotify.open()
    } catch (error) {
      if (!this.#context.sourceChoice.mayFallBack || !isLimit(error)) throw error
      pollInstead(this.#context, mount, root.path, error)
    }
  }

  /** Resolves the path of a root, and watches its hops where the root uses inotify. If a watch is refused, sync() or the next event of the root finds what it would tell. */
  async follow(root: Root): Promise<void> {
    const { paths } = this.#context
    const inotify = this.#context.inotify.instance
    if (inotify === undefined || !root.top?.mount.usesInotify) {
      root.way = await paths.wayOf(root.path)
      return
    }
    const { refused } = await paths.watch(root, root.isAwaited ? 'name' : 'above', inotify)
    if (refused === undefined) return
    trace('%s: %s', root.path, refused)
    if (!root.isAwaited) return
    // The watches that awaited the root give way to fewer.
    root.isAwaited = false
    await this.follow(root)
  }
}
