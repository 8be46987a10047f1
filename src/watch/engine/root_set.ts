import { isWithin } from '../../mounts/mountinfo.ts'
import { asWatchError, closedError, isAbsence } from '../report/watch_error.ts'
import type { FileAttacher } from '../roots/file_attacher.ts'
import { absenceOf, asLost, asRestored, Root, type SeenBefore } from '../roots/root.ts'
import type { Since } from '../saved/since.ts'
import type { EngineContext } from './context.ts'
import { FirstLook } from './first_look.ts'

/** The roots as the caller asks for them: added one at a time or many at once, within the call or behind it, and removed. */
export class RootSet {
  readonly #context: EngineContext
  readonly #firstLook: FirstLook
  /** The root whose first listing is under way: coverage() tells how far that has come. */
  beginning: Root | undefined
  // The roots that are still to be added, as their servers have not answered.
  readonly #waits = new Set<{ readonly path: string }>()
  #closed = false

  constructor(context: EngineContext) {
    this.#context = context
    this.#firstLook = new FirstLook(context)
  }

  /** Ends the adding of roots. */
  close(): void {
    this.#closed = true
  }

  /**
   * Looks at these paths within this call: see {@link FirstLook.look}. The caller follows up with {@link addAll}, which says what is wrong afterwards.
   *
   * @returns the first error of the paths that cannot be opened, read or watched
   */
  lookNow(paths: readonly string[], ms: number): unknown {
    this.#assertOpen()
    // Opened before the first look, so that later mounts are told; if it fails now, the attacher tries again.
    void this.#context.mountWatch.open().catch(() => {})
    for (const path of paths) this.#context.asked.add(path)
    return this.#firstLook.look(paths, ms)
  }

  /**
   * Watches one more path; a path that leads nowhere is a lost root until it leads somewhere. Rejects
   * with InotifyError: the path cannot be opened, listed or watched, or EBADF.
   */
  async add(path: string): Promise<void> {
    const { system, files } = this.#context
    const served = system.served([path])
    if (served.length > 0) {
      const wait = { path }
      this.#waits.add(wait)
      await files.answered(served)
      // Removed meanwhile.
      if (!this.#waits.delete(wait)) return
    }
    await this.#add(path)
  }

  #add(path: string): Promise<void> {
    return this.#context.queue.run(async () => {
      const { settings, forest, since } = this.#context
      this.#assertOpen()
      if (this.#context.byPath.has(path)) return
      this.#context.asked.add(path)
      const root = new Root(path)
      forest.forsakeLost(root)
      const initial = settings.initial || since?.isOpen === true
      const isTold = initial && !forest.hasToldBelow(root)
      this.beginning = root
      try {
        await this.#attach(root, initial && !isTold)
      } catch (error) {
        this.#context.asked.delete(path)
        this.#forget(root)
        throw asWatchError(error, path)
      } finally {
        this.beginning = undefined
      }
      this.#assertOpen()
      this.#context.byPath.set(path, root)
      forest.admit(root, isTold, initial)
      this.#lookDeeper(root)
    })
  }

  /**
   * Adds each path as add() does, whatever the order of the list. Outer roots come first, since they report what lies in them; files come last, together.
   */
  async addAll(paths: readonly string[]): Promise<void> {
    const { system, queue, files, fileAttacher, since } = this.#context
    this.#assertOpen()
    for (const path of paths) this.#context.asked.add(path)
    try {
      const together = fileAttacher.filesAmong(paths)
      const others = paths.filter((path) => !together.has(path))
      // While a server has stopped, neither events nor the end wait for a root to be attached.
      const served = system.served(others)
      if (served.length > 0) await files.answered(served)
      if (since !== undefined) await this.#openSince(since, paths)
      for (const path of others.toSorted((a, b) => depthOf(a) - depthOf(b))) await this.#add(path)
      if (together.size > 0) await queue.run(() => this.#addFiles(together))
      for (const path of together.keys()) if (!this.#context.byPath.has(path)) await this.#add(path)
    } finally {
      since?.close()
      await this.#endFirstLook()
    }
  }

  async #openSince(since: Since, paths: readonly string[]): Promise<void> {
    const { rules, savedRoots } = this.#context
    await since.open(paths)
    for (const path of rules.recursive ? paths : []) {
      const [outer] = paths.filter((each) => each !== path && isWithin(path, each))
      if (outer !== undefined) await savedRoots.forsakeCovered(new Root(path), new Root(outer))
    }
  }

  remove(path: string): Promise<void> {
    for (const wait of this.#waits) if (wait.path === path) this.#waits.delete(wait)
    return this.#context.queue.run(async () => {
      const { reporter, translator, forest, coveredRoots, attacher } = this.#context
      const root = this.#context.byPath.get(path)
      if (root === undefined) return
      reporter.report(translator.giveUp())
      reporter.flush(path)
      coveredRoots.review()
      this.#context.byPath.delete(path)
      this.#context.asked.delete(path)
      this.#lookDeeper(root)
      for (const each of forest.dismiss(root)) await attacher.stand(each)
      this.#forget(root)
    })
  }

  async #endFirstLook(): Promise<void> {
    const { queue, inotify, rootMonitor, reporter } = this.#context
    const { directories } = this.#firstLook
    await queue.run(() => this.#firstLook.end())
    if (directories.length === 0 || this.#closed) return
    // The hops are watched by now, and were not at the first look. The events of the hops come first.
    const roots = () => directories.flatMap((path) => this.#context.byPath.get(path) ?? [])
    const check = inotify.barrier().then(() => queue.run(() => rootMonitor.checkIdentity(roots())))
    check.catch((error) => {
      if (!this.#closed) reporter.trouble(error)
    })
  }

  /** Attaches what is there, or notes that nothing is; and tells what has changed since the first look. */
  async #attach(root: Root, isSilent: boolean): Promise<void> {
    const { reporter } = this.#context
    const seen = this.#firstLook.seen.get(root.path)
    if (seen === 'missing') return await this.#attachNew(root, isSilent)
    root.before = this.#before(root.path)
    const isThere = await this.#attachOrExplain(root, isSilent).finally(() => {
      root.before = undefined
    })
    if (seen === undefined) return
    const kind = seen === 'directory' ? seen : seen.kind
    if (isThere && (root.kind === 'directory') === (kind === 'directory')) return
    reporter.report([asLost({ path: root.path, kind }, isThere ? 'replaced' : 'deleted', 'rescan')])
    if (!isThere) return
    this.#forget(root)
    root.file = undefined
    await this.#attachNew(root, isSilent)
  }

  /** Attaches a root at whose path there was nothing: what is there by now is restored, and all in it is new. */
  async #attachNew(root: Root, isSilent: boolean): Promise<void> {
    const { reporter } = this.#context
    root.absence = absenceOf(root)
    let isThere = false
    const found = await reporter.withheld(async () => {
      isThere = await this.#attachOrExplain(root, isSilent)
    })
    reporter.report(isThere ? [asRestored(root), ...found] : found)
  }

  /** Returns true if something is there. Rejects if that cannot be watched. */
  async #attachOrExplain(root: Root, isSilent: boolean): Promise<boolean> {
    try {
      await this.#context.attacher.attach(root, isSilent)
      return true
    } catch (error) {
      if (!isAbsence(error)) throw error
      root.absence = asWatchError(error, root.path) as Error
      return false
    }
  }

  /** @param files see {@link FileAttacher.filesAmong} */
  async #addFiles(files: ReadonlyMap<string, boolean>): Promise<void> {
    const { settings, attacher, fileAttacher, forest } = this.#context
    const { initial } = settings
    this.#assertOpen()
    // Comes before the first look, so that later mounts are reported.
    await attacher.watchMounts()
    const fresh = [...files.keys()].filter((path) => !this.#context.byPath.has(path) && this.#mayBeFile(path))
    for (const root of await fileAttacher.attachTogether(fresh, files, (path) => this.#before(path))) {
      this.#context.byPath.set(root.path, root)
      forest.admit(root, initial, initial)
    }
    this.#assertOpen()
  }

  /** Returns the file that the first look has seen at a path. With `initial` the file is told to be there as it is by now. */
  #before(path: string): SeenBefore | undefined {
    const seen = this.#context.settings.initial ? undefined : this.#firstLook.seen.get(path)
    return typeof seen === 'object' ? seen : undefined
  }

  /** Returns true unless something else was at the path within the call: that would have to be told. */
  #mayBeFile(path: string): boolean {
    const seen = this.#firstLook.seen.get(path)
    return seen === undefined || typeof seen === 'object'
  }

  /** Lists a covered root anew, which is now watched or not any more: the ignores of its coverer hide more or less below it then. */
  #lookDeeper({ coverer, top }: Root): void {
    const { rules, tree, pending } = this.#context
    if (!rules.hidesByRoot || coverer === undefined || top === undefined) return
    for (const each of tree.within(top)) pending.work.list(each)
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  #forget(root: Root): void {
    const { paths, forest } = this.#context
    root.vanish()
    paths.leave(root)
    forest.drop(root)
    root.outdate()
  }
}

/** Returns how many names a path has: fewer than any path within it. */
function depthOf(path: string): number {
  return path.split('/').filter(Boolean).length
}
