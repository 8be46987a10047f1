import { pathOf, textOf } from '../../name_key.ts'
import type { Change } from './change.ts'

/** Returns the function that turns a path as a key (see name_key.ts) into a path as it is reported. The encoding decides `Path`: see {@link WatchOptions}. */
export function pathEncoderOf<Path extends string | Buffer>(
  encoding: 'utf8' | 'buffer',
): (path: string) => Path {
  // Other bytes than UTF-8 become U+FFFD as text.
  return (encoding === 'buffer' ? bytesOf : textOf) as unknown as (path: string) => Path
}

/** Turns changes whose paths are keys into changes as they are reported, in place. */
export function encodePaths<Path extends string | Buffer>(
  changes: Change[],
  encode: (path: string) => Path,
): Array<Change<Path>> {
  for (const change of changes as Array<Change<string | Path>>) {
    change.path = encode(change.path as string)
    if (change.type === 'rename') change.from = encode(change.from as string)
    else if (change.type === 'exchange') change.other = encode(change.other as string)
  }
  return changes as unknown as Array<Change<Path>>
}

function bytesOf(keys: string): Buffer {
  const path = pathOf(keys)
  return typeof path === 'string' ? Buffer.from(path) : path
}
