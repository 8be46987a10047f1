import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Kind } from '../../../src/index.ts'
import type { TreeReplay } from './tree_replay.ts'

/** An entry as it is. */
export interface Seen {
  kind: Kind
  /** A file's bytes as latin1, a link's target; '' of others. */
  content: string
  ino: bigint
  ctime: bigint
}

/** A tree as it is: paths relative to its root, parents before what is in them. */
export type Snapshot = Map<string, Seen>

/** To be taken when nobody changes the tree. */
export function snapshot(root: string): Snapshot {
  const found: Snapshot = new Map()
  const add = (prefix: string) => {
    for (const name of readdirSync(join(root, prefix))) {
      const path = join(prefix, name)
      const seen = look(join(root, path))
      found.set(path, seen)
      if (seen.kind === 'directory') add(path)
    }
  }
  add('')
  return found
}

function look(path: string): Seen {
  const stats = lstatSync(path, { bigint: true })
  const common = { ino: stats.ino, ctime: stats.ctimeNs }
  if (stats.isDirectory()) return { ...common, kind: 'directory', content: '' }
  if (stats.isSymbolicLink()) return { ...common, kind: 'symlink', content: readlinkSync(path) }
  if (stats.isFile()) return { ...common, kind: 'file', content: readFileSync(path, 'latin1') }
  return { ...common, kind: 'other', content: '' }
}

/** A path of which something else is believed than is there. */
export interface Divergence {
  path: string
  what: string
}

/**
 * How what is believed differs from what is: in names, in kinds, and where a file that nothing was told of holds something else
 * than before. Of the inodes in `linked` the content does not count: a write by one of a file's names is told of that name alone.
 */
export function divergences(
  replay: TreeReplay,
  real: Snapshot,
  linked: ReadonlySet<bigint> = new Set(),
): Divergence[] {
  const believed = replay.entries()
  const found: Divergence[] = []
  for (const [path, { kind }] of believed) {
    if (!real.has(path)) found.push({ path, what: `a ghost: believed to be a ${kind}` })
  }
  for (const [path, seen] of real) {
    const belief = believed.get(path)
    if (belief === undefined) found.push({ path, what: `missed: it is a ${seen.kind}` })
    else if (belief.kind !== seen.kind)
      found.push({ path, what: `believed to be a ${belief.kind}, and is a ${seen.kind}` })
    else if (belief.content !== undefined && belief.content !== seen.content && !linked.has(seen.ino))
      found.push({
        path,
        what: `not named: it held ${quote(belief.content)}, and holds ${quote(seen.content)}`,
      })
  }
  return found
}

const quote = (content: string) =>
  JSON.stringify(content.length > 60 ? `${content.slice(0, 60)}...` : content)
