import { addAbortListener } from 'node:events'
import { type PathLike, statSync, type WatchOptions } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeErrno, InotifyError } from '../errors.ts'
import { FSWatcher, type FSWatchListener } from './fs_watcher.ts'
import { type FSWatchIgnore, ignoredBy } from './ignore.ts'
import { nodeWatch } from './nodes_own.ts'
import { watchPolled } from './polls.ts'
import { deliversAll, type Sink, watchEvents, watchTree } from './sources.ts'

/** Options of fs.watch(), as the newest Node has them. */
export interface FSWatchOptions
  extends Pick<WatchOptions, 'encoding' | 'persistent' | 'recursive' | 'signal'> {
  /**
   * Filenames that are not reported, nor anything below them. Globs are matched by path.matchesGlob(), which warns that it is experimental before Node 24.8.
   */
  ignore?: FSWatchIgnore | null | undefined
  /** false: do not throw for a path at which there is nothing; nothing is ever reported of it. @default true */
  throwIfNoEntry?: boolean | null | undefined
}

/**
 * As fs.watch(): the same arguments, events and errors. Directories of a tree are watched, not its files; mounts that do not deliver all events are
 * polled; and after lost events `'rename'` with a filename of null says so. What differs: docs/fs.md.
 */
export function watch(
  filename: PathLike,
  options?: FSWatchOptions | BufferEncoding | 'buffer' | null | FSWatchListener,
  listener?: FSWatchListener,
): FSWatcher {
  const [given, onChange] = typeof options === 'function' ? [{}, options] : [options ?? {}, listener]
  const asked = typeof given === 'string' ? { encoding: given } : given
  // Node reports wrong arguments in its own words.
  if (!isValid(filename, asked)) nodeWatch(filename, options as object).close()
  const { encoding, ignore, persistent = true, recursive = false, signal, throwIfNoEntry } = asked
  const path = filename instanceof URL ? fileURLToPath(filename) : filename
  // As libuv has it: of 'dir/' that is ''.
  const named = Buffer.from(path)
  const own = named.subarray(named.lastIndexOf('/') + 1)
  const isIgnored = ignore == null ? () => false : ignoredBy(ignore)
  const watcher = new FSWatcher(onChange, (tell, fail) => {
    const sink: Sink = {
      tell: (type, name = own) => {
        if (name !== null && isIgnored(name.toString())) return
        tell(type, name === null || encoding === 'buffer' ? name : name.toString(encoding ?? 'utf8'))
      },
      fail: (error) => fail(asNodeError(error, path)),
    }
    try {
      const isDelivered = deliversAll(path)
      const isTree = recursive && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
      if (isDelivered && !isTree) return watchEvents(path, sink)
      const root = resolve(path.toString())
      if (!isTree) return watchPolled(root, sink)
      const ignores = ignore != null && { ignore: (each: string) => isIgnored(relative(root, each)) }
      return watchTree(root, { recursive: true, ...ignores }, isDelivered, sink)
    } catch (error) {
      if (throwIfNoEntry === false && (error as NodeJS.ErrnoException).code === 'ENOENT') return () => {}
      throw asNodeError(error as Error, path)
    }
  })
  if (!persistent) watcher.unref()
  if (signal !== undefined) {
    const listening = addAbortListener(signal, () => watcher.close())
    watcher.once('close', () => listening[Symbol.dispose]())
  }
  return watcher
}

export function isValid(filename: unknown, options: FSWatchOptions): boolean {
  const isPath = typeof filename === 'string' || Buffer.isBuffer(filename) || filename instanceof URL
  if (!isPath || filename.toString().includes('\0') || typeof options !== 'object' || options === null)
    return false
  const { encoding, recursive, signal } = options
  const isKnown = encoding == null || encoding === 'buffer' || Buffer.isEncoding(encoding)
  if (!isKnown || (recursive !== undefined && typeof recursive !== 'boolean')) return false
  return signal === undefined || signal instanceof AbortSignal
}

/** An error of fs.watch(), of the system call that it stands for; and what to do about it. */
function asNodeError(error: Error, path: string | Buffer): Error {
  if (!(error instanceof InotifyError)) return error
  const { errno, code, hint } = error
  const filename = path.toString()
  const told = new Error(`${code}: ${describeErrno(-errno)[1]}, watch${filename && ` '${filename}'`}`)
  const where = filename === '' ? {} : { path: filename }
  return Object.assign(told, { errno, syscall: 'watch', code, ...where, filename, hint })
}
