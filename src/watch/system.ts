import type { InotifyOptions } from '../inotify/inotify.ts'
import type { Choice } from '../mounts/filesystems.ts'
import type { MountWatch } from '../mounts/mount_watch.ts'
import type { Resolved } from '../mounts/syscalls/symlinks.ts'
import type { Clock } from './clock.ts'
import type { InotifyInstance } from './inotify_instance.ts'
import type { Kind } from './report/change.ts'
import type { Filesystem } from './saved/filesystem.ts'
import type { Walker } from './scan/walker.ts'

/** What is used of a {@link Walker}. */
export type TreeWalker = Pick<Walker, keyof Walker>

/** A directory of which inotify tells all, and what is so for all names in it. */
export interface SurveyedDirectory {
  /** Where its path leads. */
  resolved: Resolved
  /** That it is inotify, and why. */
  choice: Choice
  /** But for these, on which something is mounted. */
  mounted: ReadonlySet<string>
}

/** What is at a path, if inotify tells all of it. */
export type SeenNow = Kind | 'missing'

/** What is asked for snapshots: see {@link Watcher.save}. Paths are keys. */
export interface SavingSystem {
  /** Rejects as open(2) and read(2) fail. */
  read(path: string): Promise<Buffer>
  /** Puts a file in the place of the one that is there, or of none: all of it, durably, or nothing. Rejects with InotifyError. */
  write(path: string, data: Buffer): Promise<void>
  /** Another one for each time that the machine was started; '' where nobody says. */
  bootId(): Promise<string>
  /** Rejects where there is nothing at the path. */
  filesystemOf(path: string): Promise<Filesystem>
}

/**
 * All that `watch()` asks of the world, but for what it asks about roots that are files. Paths are keys: see name_key.ts. Linux is one (linux.ts); another is simulated,
 * where every order in which things can happen is played.
 */
export interface WatchSystem {
  /** The source for an existing path, by the mounts that it crosses. */
  choose(path: string): Promise<Choice>
  /**
   * What {@link choose}, {@link followSymlinks} and {@link isMountPoint} would say of all that lies in these directories, with one look at the mount table. By
   * their paths: those that can be looked at, and of which inotify tells all.
   */
  survey(directories: readonly string[]): Promise<ReadonlyMap<string, SurveyedDirectory>>
  /**
   * What says what is at a path, within the call, by the mount table as it is now. undefined: inotify does not tell all of it, or it cannot be looked at. It asks no filesystem
   * that may not answer.
   *
   * @param followsLast whether a symlink at its last name is what it leads to
   */
  lookNow(followsLast: boolean): (path: string) => SeenNow | undefined
  /** The type of the mount at a path, if it holds no files of anybody's but the kernel's own tables ('proc'). */
  pseudoType(path: string): Promise<string | undefined>
  /** Whether the last name of a path is a symlink, wherever it leads. Rejects as lstat(2) fails. */
  isSymlink(path: string): Promise<boolean>
  /** Whether a file is mounted by itself: of what is written to it the directory that it lies in has no event. */
  isMountPoint(path: string): Promise<boolean>
  /** The mount points, keys, at which a file may be mounted by itself: what is bound there is not the whole of a filesystem. None where nobody can tell. */
  mountedFiles(): readonly string[]
  /** The path without symlinks, as the mount table has it. Rejects as realpath(3) fails. */
  realpath(path: string): Promise<string>
  /** Over which symlinks a path leads, as far as it leads anywhere: what is missing is taken by the letter. Where links go round, it leads to one of them. */
  followSymlinks(path: string): Promise<Resolved>
  /** The same of many paths, in their order: what they have in common is looked at once. What cannot be looked at is taken by the letter. */
  followTogether(paths: readonly string[]): Promise<Resolved[]>
  /** Tells of mount points that come and go, and on which of them nothing is mounted any more. */
  watchMounts(
    changed: (points: string[], vacant: string[]) => void,
  ): Pick<MountWatch, 'open' | 'settled' | 'close'>
  /** What the watches of directories ask for. */
  readonly directoryMask: number
  /** Throws InotifyError: EMFILE, ENFILE, ENOMEM, EAGAIN. */
  openInotify(options: InotifyOptions): InotifyInstance
  /** The watches that the kernel has; undefined where nobody can tell. Rejects for want of descriptors or memory alone. */
  kernelWatches(inotify: InotifyInstance): Promise<Set<number> | undefined>
  openWalker(): TreeWalker
  readonly clock: Clock
  readonly saving: SavingSystem
  /** How many entries may be held as objects; the rest is packed. */
  readonly entryCacheSize: number
}
