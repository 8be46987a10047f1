import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Kind } from '../../../src/index.ts'

/** Returns all entries below a directory, parents first. Follows no links. */
export function namesIn(root: string): Array<[path: string, kind: Kind]> {
  const found: Array<[string, Kind]> = []
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    const path = join(root, entry.name)
    found.push([path, kindOf(entry)])
    if (entry.isDirectory()) found.push(...namesIn(path))
  }
  return found
}

function kindOf(entry: Dirent): Kind {
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symlink'
  return entry.isFile() ? 'file' : 'other'
}
