import type { EventEmitter } from 'node:events'
import { basename, dirname } from 'node:path'
import { AddonLoadError } from '../errors.ts'
import { mountById } from '../mounts/mount_of.ts'
import { MountWatch } from '../mounts/mount_watch.ts'
import { requireProc } from '../mounts/proc.ts'
import { CallError, codeOf } from '../mounts/syscalls/call_error.ts'
import { DirectoryHandle, lookUpPath } from '../mounts/syscalls/directory_handle.ts'
import { AT_FDCWD, O_PATH, SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { failure } from '../publish/failure.ts'
import { Conditions } from './conditions.ts'
import { type MirrorEvents, rethrow } from './events.ts'
import type { MirrorConfig } from './options.ts'
import { countKeys } from './plan/tree.ts'
import { Relayed } from './relayed.ts'
import { Source } from './source/source.ts'
import { SyncLoop } from './sync_loop.ts'
import type { PassContext } from './sync_pass.ts'
import { type Inode, isSame, lineageOf } from './target/lineage.ts'
import type { SourceDirectory } from './target/opened_target.ts'
import { Publisher } from './target/publisher.ts'
import { Target } from './target/target.ts'

/** The ms that an aborted start waits for the target. */
const PARTING = 500

/** The open parts of a mirror. */
export type Prepared = Awaited<ReturnType<typeof prepare>>

/** The sources and the target. The type of a file system is undefined if it is not known. */
export type Summary = Prepared['summary']

/** A source that was there when the mirror started. */
interface Found extends SourceDirectory {
  readonly path: string
  readonly calls: SyscallThread
  readonly inode: Inode
}

/** Opens all that the passes need, or leaves nothing open and nothing made. */
export async function prepare(config: MirrorConfig, events: EventEmitter<MirrorEvents>) {
  requireProc()
  const calls = new SyscallThread()
  const ways = config.sources.map((path) => ({ path, calls: new SyscallThread() }))
  const endSources = () => {
    for (const way of ways) way.calls.end()
  }
  let parting: NodeJS.Timeout | undefined
  const onAbort = () => {
    endSources()
    // A half-made target is best completed, and then removed; unless that takes long.
    parting = setTimeout(() => calls.end(), PARTING)
  }
  config.signal?.addEventListener('abort', onAbort)
  const found: Found[] = []
  try {
    for (const { path, calls } of ways) found.push(await findSource(path, calls))
    return await prepareTarget(config, found, calls, events)
  } catch (error) {
    endSources()
    calls.end()
    config.signal?.throwIfAborted()
    throw error
  } finally {
    clearTimeout(parting)
    config.signal?.removeEventListener('abort', onAbort)
  }
}

async function prepareTarget(
  config: MirrorConfig,
  found: readonly Found[],
  calls: SyscallThread,
  events: EventEmitter<MirrorEvents>,
) {
  const [first] = found
  const isSole = found.length === 1 && first?.isFile === true
  if (isSole) await refuseAsFile(calls, first, config.target)
  const only = isSole ? basename(config.target) : ''
  const target = await Target.open(calls, {
    directory: isSole ? dirname(config.target) : config.target,
    only,
    sources: found,
    // Each of the sources may have given it so much.
    bytes: config.limits.bytes * found.length,
  })
  const publisher = new Publisher(target, found.length)
  const passes = found.map(({ path, calls: own, isFile, lineage }, index): PassContext => {
    const alias = isFile ? (isSole ? only : basename(path)) : undefined
    const source = new Source(path, own, lineage.path, alias)
    return { config, source, index, publisher, target }
  })
  const conditions = new Conditions(config.sources, publisher, events)
  const loops = passes.map((context) => new SyncLoop(context, conditions))
  const relayed = config.relay && new Relayed(config.relay, loops)
  publisher.lookAgain = (source) => void loops[source]?.refresh().catch(rethrow)
  // An error of no source, over once told: the mirror goes on at once into the new directory.
  publisher.moved = (error) => {
    conditions.moved()
    events.emit('error', error)
  }
  // Held descriptors do not see a mount over a source, nor an unmount.
  const mounts = new MountWatch((points) => {
    for (const [index, { source }] of passes.entries())
      if ([...source.paths, target.shown].some((path) => points.some((point) => concerns(point, path))))
        loops[index]?.disturb()
  })
  return {
    target,
    publisher,
    conditions,
    /** One for each source. */
    loops,
    /** To be opened before the loops begin. */
    mounts,
    relayed,
    get summary() {
      return {
        sources: passes.map(({ source: { path, type } }) => ({ path, type })),
        target: { path: config.target, type: mountById(Number(target.held.opened.mount))?.type },
        interval: config.interval,
        /** Files and links that readers see. */
        keys: countKeys(publisher.tree),
      }
    },
    /** True: the target had entries before: an earlier mirror's, or somebody else's that have been replaced. */
    inherited: !target.opened.wasEmpty,
    /** Closes everything that is still open. */
    close: async () => {
      await target.close()
      calls.end()
    },
  }
}

const UNREADABLE =
  "the mirror's user must be able to read and to search the source: runAsUser, fsGroup or defaultMode in a pod, else chmod"
const UNREACHABLE =
  'a source must be a directory or a regular file that exists and can be reached when the mirror starts'

/** Throws an {@link InotifyError} if a source is missing, cannot be read, or is neither a directory nor a regular file. */
async function findSource(path: string, calls: SyscallThread): Promise<Found> {
  try {
    await lookUpPath(calls, path)
    const { fd, stat } = await calls.open(path, O_PATH)
    calls.close(fd)
    const isFile = stat.isFile()
    // Anything else is ENOTDIR here.
    await using held = await DirectoryHandle.open(calls, isFile ? dirname(path) : path)
    // O_PATH needs no right to read the directory.
    if (!isFile) await held.names(1)
    return { path, calls, isFile, stat: held.opened, inode: stat, lineage: await lineageOf(held) }
  } catch (error) {
    if (error instanceof AddonLoadError) throw error
    const errno = error instanceof CallError ? -error.errno : 'EIO'
    const hint = codeOf(error) === 'EACCES' ? UNREADABLE : UNREACHABLE
    throw failure(errno, 'open', path, hint)
  }
}

/** The target of a single file is the path of one. */
async function refuseAsFile(calls: SyscallThread, { inode }: Found, path: string): Promise<void> {
  const stat = await calls.stat({ fd: AT_FDCWD, name: path }).catch(() => undefined)
  if (stat === undefined) return
  const isFile = 'the source is a single file: name the file in this directory that it shall be'
  if (stat.isDirectory()) throw failure('EISDIR', 'mirror', path, isFile)
  const isSource = 'it is the source itself: the target must be another file, best on a tmpfs'
  if (isSame(stat, inode)) throw failure('EINVAL', 'mirror', path, isSource)
}

/** Returns true if a path leads through the mount point, or to its place. */
function concerns(point: string, path: string): boolean {
  const isBeneath = (a: string, b: string) => `${a}/`.startsWith(b === '/' ? b : `${b}/`)
  return isBeneath(path, point) || isBeneath(point, path)
}
