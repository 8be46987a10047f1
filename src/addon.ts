import { createRequire } from 'node:module'
import { join } from 'node:path'
import { AddonLoadError } from './errors.ts'

/**
 * One inotify instance as the addon has it. Methods that stand for a system call return its result, or a negative errno:
 * messages and hints are made in TypeScript.
 */
export interface NativeQueue {
  /** inotify_init1, the loop's handles and the guard thread. Nothing is delivered before resume(). 0 or -errno. */
  open(
    options: NativeQueueOptions,
    onBatch: BatchCallback,
    onError: (errno: number, syscall: string) => void,
  ): number
  /** inotify_add_watch: a wd or -errno. */
  add(path: string | Buffer, mask: number): number
  /** inotify_rm_watch: 0 or -errno. */
  remove(wd: number): number
  /**
   * Puts a mark at the queue's tail: adds and removes a watch on a private memfd. The wd returned (or -errno) comes back
   * as an IN_IGNORED behind every event queued before, or is swallowed by an IN_Q_OVERFLOW that does.
   */
  barrier(): number
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

/** rows: four Int32 an event: wd, mask, cookie, nameEnd. names: a string for each 64 events. See inotify/batch.ts. */
export type BatchCallback = (rows: Int32Array, names: string[]) => void

export interface Addon {
  Queue: new () => NativeQueue
  /** The mount id of a path by statx(STATX_MNT_ID), symlinks followed; 0 where the kernel (before 5.8) does not say; -errno. */
  mountId(path: string | Buffer): number
}

let addon: Addon | undefined

/** The addon, loaded when it is first needed: diagnosis, polling and planning work without it. Throws {@link AddonLoadError}. */
export function loadAddon(): Addon {
  addon ??= load()
  return addon
}

function load(): Addon {
  const moduleRoot = join(import.meta.dirname, '..')
  const platform = `${process.platform}-${process.arch}`
  const places = [
    ['build', 'Release'],
    ['native', 'build', 'Release'],
    ['prebuilds', platform],
  ]
  try {
    const bindings = createRequire(import.meta.url)('bindings') as (options: object) => Addon
    return bindings({
      bindings: 'inotify_bridge.node',
      // Without it `bindings` looks for the root in a stack trace, which bundlers and loaders falsify.
      module_root: moduleRoot,
      try: places.map((place) => ['module_root', ...place, 'bindings']),
    })
  } catch (cause) {
    const tried = places.map((place) => join(moduleRoot, ...place, 'inotify_bridge.node'))
    throw new AddonLoadError(platform, tried, remedy(moduleRoot), cause)
  }
}

function remedy(moduleRoot: string): string {
  if (process.platform !== 'linux')
    return 'inotify is a facility of the Linux kernel: there is none on this platform.'
  return (
    'Build it where it is installed (g++, make and python3 are needed):\n' +
    '  npm install --no-save node-gyp@12 node-addon-api@8\n' +
    `  npx node-gyp rebuild -C ${join(moduleRoot, 'native')}`
  )
}
