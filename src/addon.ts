import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { findCompiled, refuseOtherRuntimes } from './compiled.ts'
import { AddonLoadError } from './errors.ts'

/**
 * One inotify instance as the addon has it. Methods that stand for a system call return its result, or a negative errno:
 * messages and hints are made in TypeScript.
 */
export interface NativeQueue {
  /** inotify_init1, the loop's handles and the guard thread. Nothing is delivered before resume(). 0 or -errno. */
  open(
    options: NativeQueueOptions,
    onEvent: EventCallback,
    onBatch: BatchCallback,
    onError: (errno: number, syscall: string) => void,
  ): number
  /** inotify_add_watch: a wd or -errno. */
  add(path: string | Buffer, mask: number): number
  /** inotify_rm_watch: 0 or -errno. */
  remove(wd: number): number
  /**
   * Puts a mark behind every event that is queued now, for which no watch is needed. The number returned comes back as the wd of an event with
   * IN_IGNORED: it is less than -4096, which tells it from the kernel's, and from -errno.
   */
  barrier(): number
  /** The instance's descriptor, for /proc/self/fdinfo; -EBADF when closed. */
  fd(): number
  /** Stops and starts delivery; what comes meanwhile stays with the kernel and the guard thread's arena. */
  pause(): void
  resume(): void
  ref(): void
  unref(): void
  close(): void
}

/** Options of a {@link NativeQueue}, all required: defaults are the caller's. */
export interface NativeQueueOptions {
  /** ms between reads while events keep coming; 0 reads at every wakeup. */
  batchWindow: number
  /** Bytes the guard thread may hold for a loop that does not read. */
  arenaBytes: number
  persistent: boolean
}

/** An event that came alone. `mask` and `cookie` are as unsigned as the kernel's; `name` has a character a byte. */
export type EventCallback = (wd: number, mask: number, cookie: number, name: string, isAscii: boolean) => void

/** rows: four Int32 an event: wd, mask, cookie, nameEnd. names: a string for each 64 events. See inotify/batch.ts. */
export type BatchCallback = (rows: Int32Array, names: string[]) => void

/**
 * Walks directory trees on threads (two at the most, which all walkers take turns in): opens each directory, watches it, lists it. One walk at a time.
 *
 * A walk that is made once keeps the loop alive; a walker without one does not. A thread that a dead mount holds is left behind by close().
 *
 * **Requests**, packed one after another, numbers little-endian. They are walked by their paths, a directory before those in it, and each goes
 * on from where the ones before have come by, as a recursive walk does from the directories that it has open:
 *
 *     u32 flags       1 RECURSIVE, 2 WATCH (each directory that is listed), 4 STAT (each entry), 8 LOOK (no listing: only the
 *                     names given are looked for, with STAT with their stat blocks, and told in that order, directories apart; neither watches
 *                     nor recurs),
 *                     16 NO_FOLLOW_ROOT (the root itself must not be a symlink), 64 COMPARE (what is as it was when the walker last
 *                     committed is not sent: see below), 128 HASH (with the stat block of a regular file, what stands for what it holds: all of it is read),
 *                     256 STAT_ONLY (with COMPARE, in a walk that is repeated: for as long as the request's own directory has the
 *                     same stat, that is asked for in most passes, and nothing else), 512 SINCE (with STAT: each entry is asked for, and
 *                     of what was changed before a moment, by its ctime, no stat block is sent: the entry is what it is without STAT. What is no
 *                     directory, and whose stat failed, but not with EACCES, has one that says it was changed later than any moment, and nothing else. Not with
 *                     COMPARE, HASH or LOOK: EINVAL)
 *     u32 rootBytes, u32 relBytes, u32 namesBytes
 *     u64 parentIno   with flag 32: folded; the last name of rel is looked up in no other directory, or the error is -ENOENT
 *     f64 since       with flag 512: ms since the epoch, compared with the ctime in ms of the stat block
 *     root            an absolute path; symlinks are followed
 *     rel             names separated by '/', from the root to the directory; '' for the root itself. No symlink is followed
 *     names           likewise, separated by '/' (LOOK)
 *
 * **Records**, each a directory, its size a multiple of 8:
 *
 *      0 u32 size         of all of it
 *      4 u32 id           the request's index for its own directory; those found are numbered from there on, as they come
 *      8 u32 parent       its id, which has come before; 0xffffffff for a request's own directory
 *     12 i32 wd           > 0; 0 where no watch was asked for, or it did not come to it; -errno of inotify_add_watch
 *     16 i32 error        0, or -errno of what ended it: of opening or reading it, -ENOENT (also where the way to it leads elsewhere
 *                         by now), -ECANCELED, -ENOMEM (without entries). What was listed before is there; what could not be opened has no
 *                         inode number
 *     20 u32 flags        1 BOUNDARY (another mount begins here: not watched, not listed), 2 LOOK, 4 the name is ASCII,
 *                         8 VANISHED (an entry went before its stat was taken: the listing may be of no one moment),
 *                         16 on another device than the request's root, 32 UNCHANGED (COMPARE: it is as it was, its entries are not
 *                         sent, and something below it is not as it was)
 *     24 f64 ino          folded to 53 bits: (ino ^ (ino >> 53)) & (2^53 - 1)
 *     32 f64 mount id     0 where the kernel (before 5.8) does not say
 *     40 u32 dev major, u32 dev minor, u32 mode, u32 uid, u32 gid
 *     60 u32 nameBytes    0 for a request's own directory
 *     64 u32 filesCount, u32 filesBytes, u32 subdirsCount, u32 subdirsBytes
 *     80 name, files, subdirs, padding
 *
 * **Entries**, in `files` and (kind 3) `subdirs`, in the order of the listing:
 *
 *     u8              kind (bits 0 and 1): 0 file, 1 symlink, 2 other, 3 directory
 *                     flags: 4 the name is ASCII, 8 a stat block follows, 16 and behind it 16 bytes that stand for the content (of this process
 *                     alone: the key is its own). Missing where it could not be read
 *                     inoBytes (bits 5 to 7): 0 to 7; 0: not known
 *     u8 nameBytes
 *     inoBytes        the folded inode number
 *     stat block      u32 mode, uid, gid, nlink; f64 size; f64 mtime, ctime (ns since the epoch, folded likewise: to be compared for being the
 *                     same); f64 ctime, btime (ms since the epoch: to be compared with a moment; btime 0 where the file system has
 *                     none). Missing where the stat failed, but not with ENOENT, and see SINCE
 *     name
 *
 * **COMPARE**: of every directory the walker keeps a digest of 128 bits: of its place (the inode numbers and names from the request's root
 * down to it) and of all that a record says, stat blocks included. A directory whose digest is known is left out; so of a tree in which nothing
 * has changed no record comes at all. The digests of a walk are known once commit() says that its records have been taken in. What
 * could not be read, or went while it was, is never known.
 */
export interface NativeWalker {
  /**
   * Starts a walk. 0 or -errno: EBUSY while there is one, EBADF after close() or for a queue that is closed, EINVAL for arguments
   * or requests that make no sense, EAGAIN where there is no thread to be had.
   *
   * @param queue whose watches to add, with `mask`; null for none. It may be closed meanwhile.
   * @param onRecords called with whole records (about 128 KiB of them; the buffer is the callee's), at last with `done`, when there
   *   may be none. Another walk may be started from that call.
   * @param first with `most`: while there is nothing to tell (COMPARE), the walk is made again `first` ms after its end, then after twice as
   *   many, up to `most`, and never sooner than it has taken: JavaScript sleeps meanwhile, and the loop is not kept alive. It ends with one that
   *   takes longer than `most`.
   */
  walk(
    queue: NativeQueue | null,
    mask: number,
    requests: Buffer,
    onRecords: RecordsCallback,
    first?: number,
    most?: number,
  ): number
  /** Waits for the end of the walk under way, but no longer than so many ms: the calls that come until then are made within this one. Whether there is no walk any more. */
  finish(patience: number): boolean
  /**
   * Gives up between two system calls. What was found until then, and above all which directories are watched, still comes,
   * and a last call.
   */
  cancel(): void
  /** The digests of the walk that is over are what is known from now on, in place of all others. 0, or -EBUSY during a walk. */
  commit(): number
  /** ms that the last pass has taken. */
  took(): number
  /** Nothing is known: the next walk sends everything. 0, or -EBUSY during a walk. */
  forget(): number
  /** Ends all calls at once. Watches that were added, and not yet told of, stay with the queue. */
  close(): void
}

/** See {@link NativeWalker}. */
export type RecordsCallback = (records: Buffer, done: boolean) => void

/**
 * Makes system calls on a thread of its own, one after another in the order in which they are asked for: a mount that has
 * stopped answering holds up what is asked of this thread, and nothing else. See mounts/calls.ts for the kinds.
 */
export interface NativeCalls {
  /**
   * 0 or -errno. `onDone(id, result, data)` is called for each call made: result >= 0 or -errno, and what was read. Does not
   * keep the loop alive until ref().
   */
  open(onDone: (id: number, result: number, data: Buffer) => void): number
  /** 0, or -errno: it will not be made. With the id 0 onDone() is not called. EBADF while closed, EINVAL for what makes no sense, EAGAIN: no thread is to be had. */
  push(
    id: number,
    kind: number,
    a: number,
    b: number,
    c: number,
    one: string | Buffer | null,
    other: string | Buffer | null,
  ): number
  ref(): void
  unref(): void
  /**
   * Calls no more. What has not begun is dropped, and what these calls have opened is closed when the one under way comes back.
   */
  close(): void
}

/** Tells of changes of the process's mount table: mounts, unmounts, remounts. Sleeps until there is one. */
export interface NativeMountTable {
  /** 0 or -errno. What changes after it is told of, several changes perhaps in one call. Keeps the loop alive until unref(). */
  open(onChange: () => void): number
  /** Returns true if the table has changed since the kernel last told of a change, by `onChange` or here. Either tells of it once. */
  hasChanged(): boolean
  ref(): void
  unref(): void
  close(): void
}

/** An event of {@link NativeFanotify}. Its path has a character a byte, and is missing where nobody can say it. */
export interface NativeFanotifyEvent {
  mask: number
  pid: number
  path?: string
}

/** A fanotify instance that tells of whole file systems. Its events are read when they are asked for, and wait in the kernel until then. */
export interface NativeFanotify {
  /** fanotify_init: 0 or -errno. Calls `onReadable` while there is something to read. Keeps the loop alive until unref(). */
  open(onReadable: () => void): number
  /** fanotify_mark of the file system of a directory: 0 or -errno. Of events the path is told as the mount of this one shows it, and once for each mount that was added. */
  add(path: string | Buffer): number
  /** Returns what one read(2) of 64 KiB gives; or -errno. */
  read(): NativeFanotifyEvent[] | number
  /** Starts and stops the calls of `onReadable`. */
  flow(flows: boolean): void
  unref(): void
  close(): void
}

export interface Addon {
  Fanotify: new () => NativeFanotify
  Queue: new () => NativeQueue
  Walker: new () => NativeWalker
  Calls: new () => NativeCalls
  MountTable: new () => NativeMountTable
  /** The mount id of a path by statx(STATX_MNT_ID), symlinks followed; 0 where the kernel (before 5.8, or with statx(2) refused) does not say; -errno. */
  mountId(path: string | Buffer): number
  /** Returns 0 unless all of inotify is refused to this process: then -errno of inotify_init1(2), or errno of inotify_add_watch(2). */
  refusal(): number
  /** waitpid(2) for this child alone, with WNOHANG: its pid if it had ended, 0 if it has not, or -errno. */
  reap(pid: number): number
  /** ms since the system's start, by CLOCK_BOOTTIME. */
  bootTime(): number
  /** setrlimit(2) of the soft limit of open files: 0 or -errno. */
  limitFiles(soft: number): number
  /** pidfd_open(2): a descriptor or -errno. ESRCH; ENOSYS before Linux 5.3. */
  pidfdOpen(pid: number): number
  /** pidfd_send_signal(2): 0 or -errno. */
  pidfdSend(fd: number, signal: number): number
  /** Closes pidfdOpen()'s descriptor. In a worker, Node warns if fs.closeSync() closes a descriptor that Node's own calls have not opened. */
  pidfdClose(fd: number): void
}

/** The compiled files: the addon, and the programs beside it. */
const ADDON_FILE = 'inotify_bridge.node'
const ENTER_FILE = 'inotify_bridge_enter'
/** For x64 and arm64 alone. */
const RUN_FILE = 'inotify_bridge_run'

let addon: Addon | undefined

/** The addon, loaded when it is first needed: diagnosis works without it. Throws AddonLoadError (errors.ts). */
export function loadAddon(): Addon {
  addon ??= load()
  return addon
}

/** The addon, or why it cannot be loaded. */
export function addonOrError(): Addon | AddonLoadError {
  try {
    return loadAddon()
  } catch (error) {
    if (error instanceof AddonLoadError) return error
    throw error
  }
}

function load(): Addon {
  refuseOtherRuntimes()
  const compiled = findCompiled('addon')
  try {
    // As it is for this package, wherever the code has been bundled to.
    const require = createRequire(join(compiled.moduleRoot, 'package.json'))
    const bindings = require('bindings') as (options: object) => Addon
    return bindings({
      bindings: ADDON_FILE,
      // Without it `bindings` looks for the root in a stack trace, which bundlers and loaders falsify.
      module_root: compiled.moduleRoot,
      try: compiled.places.map((place) => ['module_root', ...place, 'bindings']),
    })
  } catch (cause) {
    throw compiled.missing('addon', ADDON_FILE, cause)
  }
}

/** The path of the program that enters a mount namespace (native/ns_enter.cc). Throws AddonLoadError. */
export function findEnter(): string {
  return findProgram(ENTER_FILE)
}

/** The path of the program that supervises another (native/run). Throws AddonLoadError. */
export function findRun(): string {
  return findProgram(RUN_FILE)
}

function findProgram(name: string): string {
  const compiled = findCompiled(name)
  const found = compiled.paths(name).find((path) => existsSync(path))
  if (found === undefined) throw compiled.missing(name, name)
  return found
}
