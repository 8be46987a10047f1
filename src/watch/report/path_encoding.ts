import { pathOf, textOf } from '../../name_key.ts'
import type { Change } from './change.ts'

/** Turns changes whose paths are keys (see name_key.ts) into changes as they are reported. */
export type Encoder<Path extends string | Buffer> = (changes: Change[]) => Array<Change<Path>>

/** Returns the encoder of an encoding, which decides `Path`: see {@link WatchOptions}. */
export function encoderOf<Path extends string | Buffer>(encoding: 'utf8' | 'buffer'): Encoder<Path> {
  return (encoding === 'buffer' ? asBytes : asText) as unknown as Encoder<Path>
}

/** Returns the function that turns a path as a key into a path as it is reported. */
export function pathEncoderOf<Path extends string | Buffer>(
  encoding: 'utf8' | 'buffer',
): (path: string) => Path {
  return (encoding === 'buffer' ? bytesOf : textOf) as unknown as (path: string) => Path
}

/** Decodes paths as UTF-8; other bytes become U+FFFD. */
const asText: Encoder<string> = (changes) => {
  for (const change of changes) {
    change.path = textOf(change.path)
    if (change.type === 'rename') change.from = textOf(change.from)
    else if (change.type === 'exchange') change.other = textOf(change.other)
  }
  return changes
}

/** Turns paths into Buffers of the exact bytes. */
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
