import { invalidArgument, refuseUnknown } from '../../errors.ts'
import { filePath } from '../options.ts'
import { type Change, pathsOf } from './change.ts'

/** Options of {@link Watcher.next}. */
export interface NextOptions<Type extends Change['type'] = Change['type']> {
  /**
   * The path that the change is about: a relative one begins in the working directory, as those of roots do. A `delete`, `rename`, `exchange` or `lost` of a directory above is about it as well; a change of what
   * lies below it is not. Both paths of a `rename` and of an `exchange` count. Without it any path.
   */
  path?: string
  /** The type of the change. Without it any type. */
  type?: Type
  /** Ends the wait when it aborts: `AbortSignal.timeout(ms)`. */
  signal?: AbortSignal
}

/** The types of changes; true: that of a directory speaks for all that lies below. */
const SPEAKS_FOR_ALL: Readonly<Record<Change['type'], boolean>> = {
  create: false,
  modify: false,
  attrib: false,
  delete: true,
  rename: true,
  exchange: true,
  overflow: false,
  recovered: false,
  lost: true,
  restored: false,
}

/** Returns the test that the change passes which is waited for. Throws TypeError. */
export function matcherOf(options: NextOptions): (change: Change<string | Buffer>) => boolean {
  const hints = { timeout: 'here: signal: AbortSignal.timeout(ms)' }
  refuseUnknown('options', options, ['path', 'type', 'signal'], hints)
  const { type, signal } = options
  const path = options.path === undefined ? undefined : filePath('options.path', options.path)
  if (type !== undefined && !Object.hasOwn(SPEAKS_FOR_ALL, type))
    throw invalidArgument('options.type', type, `one of ${Object.keys(SPEAKS_FOR_ALL).join(', ')}`)
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  return (change) =>
    (type === undefined || change.type === type) &&
    (path === undefined || pathsOf(change).some((told) => speaksFor(String(told), change.type, path)))
}

function speaksFor(told: string, type: Change['type'], path: string): boolean {
  return told === path || (SPEAKS_FOR_ALL[type] && path.startsWith(told === '/' ? told : `${told}/`))
}
