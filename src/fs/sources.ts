import type { WatchEventType } from 'node:fs'
import * as inotify from '../inotify/constants.ts'
import { SharedInotify } from '../inotify/shared_inotify.ts'
import { chooseBackend } from '../mounts/filesystems.ts'
import { mountIdAt, mountOf } from '../mounts/mount_of.ts'
import type { WatchOptions } from '../watch/options.ts'
import type { Change } from '../watch/report/change.ts'
import { lookNow, Watcher } from '../watch/watcher.ts'
import { Links } from './links.ts'

/** ms that a call may take: fs.watch() has no bound. */
const PATIENCE_MS = 5_000

/** The receiver of a watch's events. */
export interface Sink {
  /** @param name relative to it; undefined: it is about that itself; null: nobody knows, and anything may have changed */
  tell(type: WatchEventType, name: Buffer | null | undefined): void
  /** Something is wrong, and nothing more will be told. */
  fail(error: Error): void
}

// The mask of libuv (uv_fs_event_start in src/unix/linux.c), and so of fs.watch().
const CHANGES = inotify.IN_ATTRIB | inotify.IN_MODIFY
const RENAMES = inotify.IN_CREATE | inotify.IN_DELETE | inotify.IN_MOVE
const shared = new SharedInotify(CHANGES | RENAMES | inotify.IN_DELETE_SELF | inotify.IN_MOVE_SELF)
// As in libuv: a mask with anything but changes, if only IN_ISDIR or IN_IGNORED, is a rename.
const typeOf = (mask: number) => (mask & ~CHANGES ? 'rename' : 'change')

/** By mount id, in one turn of the loop: a program may watch thousands of files in it, and each reading of the mount table takes some 0.2 ms. */
const delivering = new Map<number, boolean>()

/** Returns true if events report every change at a path. Throws InotifyError. */
export function deliversAll(path: string | Buffer): boolean {
  const id = mountIdAt(path)
  const known = delivering.get(id)
  if (known !== undefined) return known
  const isDelivered = chooseBackend(mountOf(path)).backend === 'inotify'
  if (delivering.size === 0) setImmediate(() => delivering.clear()).unref()
  // 0: the kernel does not say.
  if (id > 0) delivering.set(id, isDelivered)
  return isDelivered
}

/** A file, or a directory's entries, by their events, as fs.watch() has them. The answer ends it. Throws InotifyError as it cannot be watched. */
export function watchEvents(path: string | Buffer, { tell, fail }: Sink): () => void {
  return shared.watch(path, {
    event: (mask, name) => tell(typeOf(mask), mask & inotify.IN_Q_OVERFLOW ? null : name),
    fail,
  })
}

/**
 * By watch(): a whole tree, or what lies on a mount that does not deliver all events, which is polled. See {@link watchEvents}.
 *
 * @param isDelivered whether events tell all: then they do from this turn on
 */
export function watchTree(path: string, options: WatchOptions, isDelivered: boolean, sink: Sink): () => void {
  const watcher = new Watcher<Buffer>(path, { ...options, settle: 0, encoding: 'buffer', persistent: false })
  const prefix = Buffer.byteLength(path === '/' ? '/' : `${path}/`)
  watcher.on('changes', (changes) => {
    for (const change of changes)
      for (const [type, at] of eventsOf(change))
        sink.tell(type, at && (at.length < prefix ? undefined : at.subarray(prefix)))
  })
  if (options.recursive)
    new Links(watcher, (link, renew) => {
      const ofLink: Sink = {
        tell(_, name) {
          sink.tell('rename', link.subarray(prefix))
          if (name === undefined) renew()
        },
        fail() {},
      }
      return deliversAll(link)
        ? watchEvents(link, ofLink)
        : watchTree(link.toString(), { recursive: false }, false, ofLink)
    })
  // Paths that cannot be watched are polled. A watcher that closed itself, unable to read events, tells why last.
  let last: Error | undefined
  watcher.on('error', (error) => {
    last = error
  })
  watcher.on('close', () => last && sink.fail(last))
  watcher.ready.catch(sink.fail)
  const failure = isDelivered ? lookNow(watcher, path, PATIENCE_MS) : undefined
  if (failure !== undefined) {
    void watcher.close()
    throw failure
  }
  return () => void watcher.close()
}

/** 'change' is of what a name holds, 'rename' of the name. null: events were lost; what differs then is told as well. */
function* eventsOf(change: Change<Buffer>): Generator<[type: WatchEventType, path: Buffer | null]> {
  if (change.type === 'modify' || change.type === 'attrib') {
    // fs.watch() does not report that a writer is done. A poll has no mask.
    const mask = change.mask & ~inotify.IN_CLOSE_WRITE
    if (mask !== 0 || change.mask === 0) yield [typeOf(mask), change.path]
  } else if (change.type !== 'recovered') {
    if (change.type === 'rename') yield ['rename', change.from]
    yield ['rename', change.type === 'overflow' ? null : change.path]
    if (change.type === 'exchange') yield ['rename', change.other]
  }
}
