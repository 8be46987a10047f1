import type { NativeQueue } from '../addon.ts'
import type { EventBatch } from '../inotify/batch.ts'
import type { barrier, Inotify, InotifyOptions, nativeQueue } from '../inotify/inotify.ts'
import type { Choice } from '../mounts/filesystems.ts'
import type { MountWatch } from '../mounts/mount_watch.ts'
import type { Resolved } from '../mounts/syscalls/symlinks.ts'
import type { Clock } from './clock.ts'
import type { Walker } from './scan/walker.ts'

/** What is used of an {@link Inotify}. */
export type InotifyInstance = AsyncIterable<EventBatch> &
  Pick<Inotify, 'add' | 'remove' | 'close'> & {
    // By themselves: what is @internal of a class is not in what is published of it.
    [barrier](): number
    readonly [nativeQueue]: NativeQueue
  }

/** With which instance the walker adds watches, and for which events. */
export interface Watching {
  inotify: InotifyInstance
  mask: number
}

/** What is used of a {@link Walker}. */
export type TreeWalker = Pick<Walker, keyof Walker>

/**
 * All that `watch()` asks of the world, but for what it asks about roots that are files. Linux is one (linux.ts); another is simulated,
 * where every order in which things can happen is played.
 */
export interface WatchSystem {
  /** The source for an existing path, by the mounts that it crosses. */
  choose(path: string): Promise<Choice>
  /** The type of the mount at a path, if it holds no files of anybody's but the kernel's own tables ('proc'). */
  pseudoType(path: string): Promise<string | undefined>
  /** Whether a file is mounted by itself: of what is written to it the directory that it lies in has no event. */
  isMountPoint(path: string): Promise<boolean>
  /** The path without symlinks, as the mount table has it. Rejects as realpath(3) fails. */
  realpath(path: string): Promise<string>
  /** Over which symlinks a path leads, as far as it leads anywhere: what is missing is taken by the letter. Rejects where links go round. */
  followSymlinks(path: string): Promise<Resolved>
  /** Tells of mount points that come and go. */
  watchMounts(changed: (points: string[]) => void): Pick<MountWatch, 'open' | 'close'>
  /** What the watches of directories ask for. */
  readonly directoryMask: number
  /** Throws InotifyError: EMFILE, ENFILE, ENOMEM, EAGAIN. */
  openInotify(options: InotifyOptions): InotifyInstance
  /** The watches that the kernel has; undefined where nobody can tell. Rejects for want of descriptors or memory alone. */
  kernelWatches(inotify: InotifyInstance): Promise<Set<number> | undefined>
  openWalker(): TreeWalker
  readonly clock: Clock
  /** How many entries may be held as objects; the rest is packed. */
  readonly entryCacheSize: number
}
