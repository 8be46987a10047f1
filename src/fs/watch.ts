import { watch as nodesOwn, type PathLike, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeErrno, InotifyError } from '../errors.ts'
import { chooseBackend } from '../mounts/filesystems.ts'
import { mountOf } from '../mounts/mount_of.ts'
import {
  type ChangeSource,
  type ChangeType,
  type Encoding,
  type Filename,
  FSWatcher,
  type OnChange,
} from './fs_watcher.ts'
import { type FSWatchIgnore, ignoredBy } from './ignore.ts'
import { SharedInotify } from './shared_inotify.ts'
import { watchTree } from './tree_source.ts'

/** As fs.watch() has them. */
export interface FSWatchOptions {
  /** Of filenames. @default 'utf8' */
  encoding?: Encoding | null | undefined
  /** Whether the watcher keeps the process. @default true */
  persistent?: boolean | undefined
  /** All that lies below a directory as well. @default false */
  recursive?: boolean | undefined
  /** Closes the watcher. */
  signal?: AbortSignal | undefined
  /** Filenames that are not told of, nor what lies below them: glob patterns (one without a slash is of the last name), RegExps, functions. */
  ignore?: FSWatchIgnore | null | undefined
  /** false: of a path at which there is nothing, nothing is ever told. @default true */
  throwIfNoEntry?: boolean | null | undefined
}

export type FSWatchListener = (eventType: ChangeType, filename: Filename) => void

// As it is now: whoever puts this in its place has it call itself otherwise.
const nodeWatch = nodesOwn

const shared = new SharedInotify()

/**
 * As fs.watch(): the same arguments, events and errors. A tree is watched by its directories, not its files; what lies on a mount that does not deliver all events is
 * polled; and where events were lost, 'rename' with a filename of null says so.
 */
export function watch(
  filename: PathLike,
  options?: FSWatchOptions | Encoding | null | FSWatchListener,
  listener?: FSWatchListener,
): FSWatcher {
  const onChange = typeof options === 'function' ? options : listener
  const given = typeof options === 'function' ? {} : (options ?? {})
  const asked = typeof given === 'string' ? { encoding: given } : given
  // What is wrong, Node says as it says it.
  if (!isValid(filename, asked, onChange))
    nodeWatch(filename, options as object, listener as () => void).close()
  const { persistent = true, recursive = false, signal } = asked
  const path = filename instanceof URL ? fileURLToPath(filename) : filename
  const isIgnored = ignoredBy(asked.ignore)
  const watcher = new FSWatcher(asked.encoding ?? 'utf8', (onAny, onError) => {
    const onEvent: OnChange =
      isIgnored === undefined
        ? onAny
        : (type, name) => (name !== null && isIgnored(name.toString())) || onAny(type, name)
    const onFailure = (error: Error) => onError(asNodeError(error, path) as Error)
    const name = Buffer.from(basename(path.toString()))
    const isRecursive = recursive && isDirectory(path)
    const tree = (isBelowOnly: boolean) =>
      watchTree(resolve(path.toString()), name, { isRecursive, isBelowOnly, isIgnored }, onEvent, onFailure)
    try {
      // What is silent is polled.
      if (chooseBackend(mountOf(path)).backend !== 'inotify') return tree(false)
      if (!isRecursive) return shared.watch(path, name, onEvent, onFailure)
      // It takes a moment until a tree is watched: what happens meanwhile in the directory itself is told, as it is by Node.
      const below = tree(true)
      try {
        return both(
          below,
          shared.watch(
            path,
            name,
            (type, each) => {
              if (type === 'rename' && each !== null) below.noteMade(each)
              onEvent(type, each)
            },
            onFailure,
          ),
        )
      } catch (error) {
        below.close()
        throw error
      }
    } catch (error) {
      const isMissing = error instanceof InotifyError && error.code === 'ENOENT'
      if (isMissing && asked.throwIfNoEntry === false) return NOTHING
      throw asNodeError(error, path)
    }
  })
  if (!persistent) watcher.unref()
  if (onChange !== undefined) watcher.on('change', onChange)
  if (signal?.aborted) process.nextTick(() => watcher.close())
  else if (signal !== undefined) {
    const abort = () => watcher.close()
    signal.addEventListener('abort', abort, { once: true })
    watcher.once('close', () => signal.removeEventListener('abort', abort))
  }
  return watcher
}

const NOTHING: ChangeSource = { ref: () => {}, unref: () => {}, close: () => {} }

function both(one: ChangeSource, other: ChangeSource): ChangeSource {
  const each = (does: (source: ChangeSource) => void) => () => [one, other].forEach(does)
  return {
    ref: each((source) => source.ref()),
    unref: each((source) => source.unref()),
    close: each((source) => source.close()),
  }
}

function isDirectory(path: string | Buffer): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isValid(filename: unknown, options: FSWatchOptions, listener: unknown): boolean {
  const isPath = typeof filename === 'string' || Buffer.isBuffer(filename) || filename instanceof URL
  if (!isPath || filename.toString().includes('\0') || typeof options !== 'object') return false
  const { encoding, recursive, signal } = options
  const isKnown = encoding == null || encoding === 'buffer' || Buffer.isEncoding(encoding)
  if (!isKnown || (recursive !== undefined && typeof recursive !== 'boolean')) return false
  if (signal !== undefined && !(signal instanceof AbortSignal)) return false
  return listener === undefined || typeof listener === 'function'
}

/** An error of fs.watch(), of the system call that it stands for; and what to do about it. */
function asNodeError(error: unknown, path: string | Buffer): unknown {
  if (!(error instanceof InotifyError)) return error
  const { errno, code, hint } = error
  const filename = path.toString()
  const [, meaning] = describeErrno(-errno)
  const where = filename === '' ? {} : { path: filename }
  const told = new Error(`${code}: ${meaning}, watch${filename === '' ? '' : ` '${filename}'`}`)
  return Object.assign(told, { errno, syscall: 'watch', code, ...where, filename, hint })
}
