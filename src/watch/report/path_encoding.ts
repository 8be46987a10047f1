import { pathOf, textOf } from '../../name_key.ts'
import type { Change } from './change.ts'

/** Changes as they are reported, from changes whose paths are keys (see name_key.ts). */
export type Encoder<Path extends string | Buffer> = (changes: Change[]) => Array<Change<Path>>

/** `Path` is what the encoding says: see {@link WatchOptions}. */
export function encoderOf<Path extends string | Buffer>(encoding: 'utf8' | 'buffer'): Encoder<Path> {
  return (encoding === 'buffer' ? asBytes : asText) as unknown as Encoder<Path>
}

/** A path as it is reported, from one that is a key. */
export function pathEncoderOf<Path extends string | Buffer>(
  encoding: 'utf8' | 'buffer',
): (path: string) => Path {
  return (encoding === 'buffer' ? bytesOf : textOf) as unknown as (path: string) => Path
}

/** What is no UTF-8 is U+FFFD. */
const asText: Encoder<string> = (changes) => {
  for (const change of changes) {
    change.path = textOf(change.path)
    if (change.type === 'rename') change.from = textOf(change.from)
    else if (change.type === 'exchange') change.other = textOf(change.other)
  }
  return changes
}

/** The exact bytes. */
const asBytes: Encoder<Buffer> = (changes) =>
  changes.map((change) => {
    const path = bytesOf(change.path)
    if (change.type === 'rename') return { ...change, from: bytesOf(change.from), path }
    if (change.type === 'exchange') return { ...change, path, other: bytesOf(change.other) }
    return { ...change, path }
  })

function bytesOf(keys: string): Buffer {
  const path = pathOf(keys)
  return typeof path === 'string' ? Buffer.from(path) : path
}
