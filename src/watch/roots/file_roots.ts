import { IN_MOVE_SELF, IN_MOVED_FROM, IN_UNMOUNT } from '../../inotify/constants.ts'
import { isWithin } from '../../mounts/mountinfo.ts'
import { warnOfAbandonedThread } from '../../mounts/syscalls/abandoned_thread.ts'
import { O_PATH, SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import type { LostReason, Source } from '../report/change.ts'
import { closedError, codeOf, isLimit, isRefused } from '../report/watch_error.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { FileNews, FileRoot } from './file_root.ts'
import type { ForestContext } from './forest/context.ts'
import { type Hint, ITSELF } from './path_watches.ts'
import type { Root, SeenBefore } from './root.ts'
import { pollInstead, turnsOf } from './ways.ts'

/** ms without an answer after which a thread is not waited for. */
const PATIENCE_MS = 500

const NO_EVENTS: Hint = { all: 0, own: 0 }

/** The finding that a file root is gone; or, of a lost one, that something has happened on the way to it. */
export interface FileFinding {
  root: Root
  what: 'lost' | 'may be back'
  /** The reason of a loss. */
  reason: LostReason
}

/** A file root that was attached: its mount is known. */
type AttachedFile = Root & { file: FileRoot; mount: WatchedMount }

/** Watches the hops to file roots and the files themselves, and stats the files when events or polls give reason to. */
export class FileRoots {
  readonly #context: ForestContext
  #calls: SyscallThread | undefined
  // The path about which the thread was asked last.
  #asked = ''

  constructor(context: ForestContext) {
    this.#context = context
  }

  /** Watches a file, then returns the news about it. Rejects if it cannot be watched. */
  async attach(root: Root): Promise<FileNews> {
    const { file, mount } = root as AttachedFile
    file.isMountPoint = await this.#context.system.isMountPoint(file.path)
    // Watched before the look, so that nothing falls between the two.
    await this.#watch(root)
    if (mount.usesInotify) this.#context.watchShortage.end()
    return await file.attach(this.#callsFor(mount))
  }

  /** Looks at the files whose events are hints. */
  async *take(hints: ReadonlyMap<Root, Hint>): AsyncGenerator<FileFinding, void> {
    for (const [root, hint] of hints) {
      const what = await this.#take(root as AttachedFile, hint)
      if (what !== undefined) yield { root, what, reason: reasonOf(root as AttachedFile, hint) }
    }
  }

  async #take(root: AttachedFile, hint: Hint): Promise<FileFinding['what'] | undefined> {
    // The path may lead over another directory now, and to another file.
    const mayBeOther = (hint.all & (ABOUT_NAME | GONE)) !== 0
    if (mayBeOther) await this.#watchAgain(root)
    if (!root.file.isPresent) return 'may be back'
    if (mayBeOther) return await this.#look(root, 'inotify', hint)
    // In an unreadable directory, only IN_ATTRIB tells that a file that still has another name was replaced.
    return await this.#lookTwice(root, 'inotify', hint)
  }

  /** True: a poll looks at some of them. */
  get arePolled(): boolean {
    return this.polled.length > 0
  }

  /** The paths of those at which a poll looks. */
  get polled(): string[] {
    return [...this.#attached()].flatMap(({ path, mount }) => (mount.usesPolling ? [path] : []))
  }

  /** Resolves when the servers of these paths have answered; rejects with EBADF when this is closed. Nothing else waits for this, where a task that waited would hold up the events of all other mounts. */
  async answered(paths: Iterable<string>): Promise<void> {
    for (const path of paths) {
      this.#calls ??= new SyscallThread()
      this.#asked = path
      const opened = await this.#calls.open(path, O_PATH).catch((error) => {
        if (codeOf(error) === 'ECANCELED') throw closedError()
        // An error is an answer as well.
      })
      if (opened !== undefined) this.#calls.close(opened.fd)
    }
  }

  /** Looks at each file, whatever was told of it: a poll at those that are polled, any other look at the rest. */
  lookAtAll(source: Source): AsyncGenerator<FileFinding, void> {
    const roots = [...this.#attached()].filter(({ mount }) => mount.usesPolling === (source === 'poll'))
    return this.#findings(roots, (root) => this.#lookTwice(root, source))
  }

  /**
   * Watches the present hops of each file and stats it, after an overflow.
   *
   * @param since see {@link FileRoot.look}: events of the overflown roots were lost from then on
   */
  reviewAll(since: number): AsyncGenerator<FileFinding, void> {
    return this.#findings(this.#attached(), (root) =>
      this.#review(root, root.isOverflown ? since : undefined),
    )
  }

  /**
   * Reviews each file whose way leads over one of these points, where mounts have come and gone. Files
   * that are polled as well are left to the polls, as the stat in this thread might not answer.
   */
  onMounts(points: readonly string[]): AsyncGenerator<FileFinding, void> {
    const roots = [...this.#attached()].filter((root) => !root.mount.usesPolling && isOnAny(root, points))
    return this.#findings(roots, (root) => this.#review(root))
  }

  async *#findings(
    roots: Iterable<AttachedFile>,
    look: (root: AttachedFile) => Promise<'lost' | undefined>,
  ): AsyncGenerator<FileFinding, void> {
    for (const root of roots) {
      const what = await look(root)
      if (what !== undefined) yield { root, what, reason: root.file.reason }
    }
  }

  /** Ends the thread. A thread still waiting is left behind, with a warning. */
  close(): void {
    const { unanswered = 0 } = this.#calls ?? {}
    if (unanswered >= PATIENCE_MS) warnOfAbandonedThread(this.#asked, unanswered)
    this.#calls?.end()
  }

  *#attached(): Generator<AttachedFile> {
    for (const root of this.#context.byPath.values())
      if (root.file !== undefined && root.mount !== undefined) yield root as AttachedFile
  }

  /** Returns a thread for a polled mount, which may stop answering. */
  #callsFor(mount: WatchedMount | undefined): SyscallThread | undefined {
    if (mount?.usesPolling !== true) return undefined
    this.#calls ??= new SyscallThread()
    return this.#calls
  }

  async #review(root: AttachedFile, since?: number): Promise<'lost' | undefined> {
    const { file, mount } = root
    const { system } = this.#context
    const isMountPoint = mount.usesPolling ? file.isMountPoint : await system.isMountPoint(file.path)
    // A file that came as a mount, or is back after an unmount, tells of itself: for this look it counts as mounted.
    file.isMountPoint ||= isMountPoint
    await this.#watchAgain(root)
    const what = await this.#look(root, 'rescan', NO_EVENTS, since)
    file.isMountPoint = isMountPoint
    return what
  }

  /** Looks at a file. If another is there, of which no event of the name has told, its watch is still the old file's: watches the new one, and looks again. */
  async #lookTwice(root: AttachedFile, source: Source, hint?: Hint): Promise<'lost' | undefined> {
    const { file, mount } = root
    const before = file.entry?.ino
    const what = await this.#look(root, source, hint)
    if (what !== undefined || file.entry?.ino === before || !mount.usesInotify) return what
    await this.#watchAgain(root)
    return await this.#look(root, source)
  }

  async #look(
    { file, mount }: AttachedFile,
    source: Source,
    { own, all } = NO_EVENTS,
    since?: number,
  ): Promise<'lost' | undefined> {
    const calls = this.#callsFor(mount)
    // If the look fails, the file is as it was, for all that could be seen.
    const news = await file.look(own, calls, since).catch((error) => this.#context.reporter.trouble(error))
    if (news === 'lost') return news
    if (news) this.tell(file, news, own || all, source)
    return undefined
  }

  /** Returns the files that are there, each with whether its own root reports its creation. */
  tellers(): Map<FileRoot, boolean> {
    const present = [...this.#attached()].flatMap(({ isPresent, file }) => (isPresent ? [file] : []))
    return new Map(present.map((file) => [file, this.#context.coverings.kindTold(file, true) !== undefined]))
  }

  /** Reports the files whose teller has changed, since `ignore` was replaced: as gone if an outer root will report them as new, as new if it has reported them as gone. */
  reportTurned(before: ReadonlyMap<FileRoot, boolean>, type: 'create' | 'delete'): void {
    const isTeller = type === 'create'
    for (const [file, is] of this.tellers()) {
      const { path, kind } = file
      if (is === isTeller && before.get(file) === !isTeller)
        this.#context.reporter.report([{ type, path, kind, mask: 0, source: 'rescan' }])
    }
  }

  /** Reports news of a file, unless an outer root does. */
  tell(file: FileRoot, type: Exclude<FileNews, 'lost' | undefined>, mask: number, source: Source): void {
    const { coverings, reporter } = this.#context
    const kind = coverings.kindTold(file, type === 'create')
    if (kind !== undefined) reporter.report([{ type, path: file.path, kind, mask, source }])
  }

  /** Watches the hops again. Attacher watches those of a missing root. */
  async #watchAgain(root: AttachedFile): Promise<void> {
    if (!root.isAwaited) await this.#watch(root).catch((error) => this.#onUnwatched(root, error))
  }

  /** Polls the file, if the backend is 'auto': no watch is left for its way, or it may not be read, which a stat does not need. */
  #onUnwatched({ file, mount }: AttachedFile, error: unknown): void {
    const { reporter, sourceChoice } = this.#context
    if (!sourceChoice.mayFallBack) reporter.trouble(error)
    // A lost file is attached anew when it is there again, and that is when to say so.
    else if (!file.isPresent) return
    else if (isLimit(error) || isRefused(error)) pollInstead(this.#context, mount, file.path, error)
    else reporter.trouble(error)
  }

  async #watch(root: Root): Promise<void> {
    const { inotify, paths } = this.#context
    const { instance } = inotify
    if (instance === undefined || !root.mount?.usesInotify) return paths.leave(root)
    await paths.watch(root, 'file', instance)
  }
}

/** Returns true if the way to a root leads over one of these mount points. */
export function isOnAny({ path, realPath, way }: Root, points: Iterable<string>): boolean {
  const route = [path, realPath, ...(way === undefined ? [] : turnsOf(way))]
  for (const point of points) if (route.some((each) => isWithin(each, point))) return true
  return false
}

/** Returns 'modify' if another file is there than when watch() was called: it has another watch. Changes of the same file have events. */
export function newsSince({ watched }: Root, { wd }: SeenBefore): 'modify' | undefined {
  return watched.some((each) => each.wd === wd && each.name === ITSELF) ? undefined : 'modify'
}

/** Returns the reason of a loss, by the finding of the look, and by the events that led to the look: of the file itself, and of all on the way. */
function reasonOf({ file: { reason } }: AttachedFile, { own, all }: Hint): LostReason {
  if (reason !== 'deleted') return reason
  if (own & IN_UNMOUNT) return 'unmounted'
  return own & IN_MOVE_SELF || all & IN_MOVED_FROM ? 'renamed' : 'deleted'
}
