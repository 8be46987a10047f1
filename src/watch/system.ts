import type { NetConnectOpts } from 'node:net'
import type { FanotifyEvent } from '../inotify/fanotify_source.ts'
import type { InotifyOptions } from '../inotify/inotify.ts'
import type { ShareOwner } from '../inotify/shared_instance.ts'
import type { Choice } from '../mounts/filesystems.ts'
import type { MountWatch } from '../mounts/mount_watch.ts'
import type { Resolved } from '../mounts/syscalls/symlinks.ts'
import type { RelayClient, RelayListener } from '../relay/relay_client.ts'
import type { Clock } from './clock.ts'
import type { InotifyInstance } from './inotify_instance.ts'
import type { Kind } from './report/change.ts'
import type { Filesystem } from './saved/filesystem.ts'
import type { Walker } from './scan/walker.ts'

/** The part of a {@link Walker} that is used. */
export type TreeWalker = Pick<Walker, keyof Walker>

/** A directory of which inotify tells all, and what is so for all names in it. */
export interface SurveyedDirectory {
  /** The resolved path of the directory. */
  resolved: Resolved
  /** The choice of inotify, and the reason. */
  choice: Choice
  /** The names on which something is mounted: they are excepted. */
  mounted: ReadonlySet<string>
}

/** The kind of the entry at a path, if inotify tells all of it. */
export type SeenNow = Kind | 'missing'

/** The calls for snapshots: see {@link Watcher.save}. Paths are keys. */
export interface SavingSystem {
  /** Rejects as open(2) and read(2) fail. */
  read(path: string): Promise<Buffer>
  /** Replaces a file, or makes one: all of it, durably, or nothing. Rejects with InotifyError. */
  write(path: string, data: Buffer): Promise<void>
  /** Resolves with a text that differs after each start of the machine; '' where nobody says. */
  bootId(): Promise<string>
  /** Rejects where there is nothing at the path. */
  filesystemOf(path: string): Promise<Filesystem>
}

/**
 * All that `watch()` asks of the world, except about roots that are files. Paths are keys: see name_key.ts.
 * Linux is one system (linux.ts); another is simulated, where every order of events is played.
 */
export interface WatchSystem {
  /** Chooses the source for an existing path, by the mounts that it crosses. */
  choose(path: string): Promise<Choice>
  /**
   * Answers {@link choose}, {@link followTogether} and {@link isMountPoint} for all entries of these directories, with
   * one look at the mount table. Returns, by path, the directories that can be looked at, and of which inotify tells all.
   */
  survey(directories: readonly string[]): Promise<ReadonlyMap<string, SurveyedDirectory>>
  /**
   * Returns the function that tells what is at a path, within the call, by the mount table as it is now. It asks no filesystem that may not answer. undefined:
   * inotify does not tell all of the path, or it cannot be looked at.
   *
   * `followsLast`: a symlink at its last name is followed.
   */
  lookNow(): (path: string, followsLast: boolean) => SeenNow | undefined
  /** Returns the paths among these whose way leads over a mount whose server may have stopped. Asks no such server. */
  served(paths: readonly string[]): string[]
  /** Resolves with the type of the mount at a path, if that holds only the kernel's own tables ('proc'). */
  pseudoType(path: string): Promise<string | undefined>
  /** Resolves with true if the last name of a path is a symlink, wherever that leads. Rejects as lstat(2) fails. */
  isSymlink(path: string): Promise<boolean>
  /** Resolves with true if a file is mounted by itself: its directory has no event of writes to it. */
  isMountPoint(path: string): Promise<boolean>
  /**
   * Resolves the symlinks of paths, in their order, as far as they lead: missing names, and what cannot be looked at, are taken by the letter. Where links go round,
   * a path leads to one of them. Common parts are looked at once.
   */
  followTogether(paths: readonly string[]): Promise<Resolved[]>
  /** Tells of mount points that come and go, and on which of them nothing is mounted any more. */
  watchMounts(
    changed: (points: string[], vacant: string[]) => void,
  ): Pick<MountWatch, 'open' | 'settled' | 'partial' | 'close'>
  /** Throws InotifyError: EMFILE, ENFILE, ENOMEM, EAGAIN. */
  openInotify(options: InotifyOptions, owner: ShareOwner): InotifyInstance
  /**
   * Opens an instance that tells who changes what, by paths without symlinks. Its `add` marks the file system of a path, and returns the path without symlinks; `read` reads what is queued, and
   * returns false if there was nothing. Both `take` and `fail` may be called within. Throws InotifyError, as does `add`.
   */
  openFanotify(
    take: (events: FanotifyEvent[]) => void,
    fail: (error: unknown) => void,
  ): { add(path: string): string; read(): boolean; close(): void }
  /** Resolves with the wds that the kernel has; undefined where nobody can tell. Rejects for want of descriptors or memory alone. */
  kernelWatches(inotify: InotifyInstance): Promise<Set<number> | undefined>
  /** Returns a number of watches. Below 1 it is given as a share of those that the user has left. */
  watches(asked: number): number
  openWalker(): TreeWalker
  /** Listens to a relay: see src/relay. */
  openRelay(address: NetConnectOpts, listener: RelayListener): Pick<RelayClient, 'sync' | 'close'>
  readonly clock: Clock
  readonly saving: SavingSystem
  /** The most entries that are held as objects; the rest is packed. */
  readonly entryCacheSize: number
}
