import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Change, Kind } from '../../src/index.ts'
import { linux } from '../../src/watch/linux.ts'
import type { WatchOptions } from '../../src/watch/options.ts'
import type { WatchSystem } from '../../src/watch/system.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { compile } from '../support/compile.ts'

export { randomFrom } from './random.mjs'

/** Returns a ready watcher, which closes with the test, and its changes so far. */
export async function watching(
  paths: string | string[],
  options: WatchOptions = {},
  system: Partial<WatchSystem> = {},
): Promise<{ watcher: Watcher; changes: Change[]; told(): Promise<Change[]> }> {
  const watcher = new Watcher(paths, options, { ...linux, ...system })
  onTestFinished(() => watcher.close())
  const changes: Change[] = []
  watcher.on('changes', (batch) => changes.push(...batch))
  await watcher.ready
  /** Returns the changes since the last call. All that was done before this call is included. */
  const told = async () => {
    await watcher.sync()
    return changes.splice(0)
  }
  return { watcher, changes, told }
}

/**
 * Describes a change, with paths relative to `base`: 'create file a', 'rename file a b', 'rename file a b
 * replaced', 'exchange file a directory b', 'lost .'.
 */
export function inWords(change: Change, base: string): string {
  const relative = (path: string) => (path === base ? '.' : path.slice(base.length + 1))
  if (change.type === 'rename') {
    const end = change.replaced ? ' replaced' : ''
    return `rename ${change.kind} ${relative(change.from)} ${relative(change.path)}${end}`
  }
  if (change.type === 'exchange') {
    const { path, kind, other, otherKind } = change
    const ends = [`${kind} ${relative(path)}`, `${otherKind} ${relative(other)}`]
    return ['exchange', ...(path < other ? ends : ends.reverse())].join(' ')
  }
  return 'mask' in change
    ? `${change.type} ${change.kind} ${relative(change.path)}`
    : `${change.type} ${relative(change.path)}`
}

/**
 * Describes each change with {@link inWords}. Leaves out a modify after a create of the same path, because a
 * poll sees both as one.
 */
export function story(changes: Change[], base: string): string[] {
  const lines: string[] = []
  for (const change of changes) {
    const line = inWords(change, base)
    const isWriting = change.type === 'modify' && lines.at(-1) === line.replace('modify', 'create')
    // A poll cannot tell two writes from one either.
    if (!isWriting && !(change.type === 'modify' && lines.at(-1) === line)) lines.push(line)
  }
  return lines
}

/**
 * A consumer of one directory that knows only the changes: applies them one by one, and throws if one does
 * not fit.
 */
export class Replay {
  readonly names = new Map<string, Kind>()

  apply(changes: Iterable<Change>): void {
    for (const change of changes) {
      if (!this.#apply(change)) throw new Error(`does not fit: ${JSON.stringify(change)}`)
    }
  }

  #apply(change: Change): boolean {
    const { names } = this
    switch (change.type) {
      case 'create': {
        const isNew = !names.has(change.path)
        names.set(change.path, change.kind)
        return isNew
      }
      case 'delete':
        return names.delete(change.path)
      case 'rename': {
        const fits = names.has(change.path) === change.replaced && names.delete(change.from)
        names.set(change.path, change.kind)
        return fits
      }
      case 'exchange': {
        const fits = names.has(change.path) && names.has(change.other)
        names.set(change.path, change.kind).set(change.other, change.otherKind)
        return fits
      }
      default:
        return !('mask' in change) || names.has(change.path)
    }
  }
}

/** Returns the names and kinds of a directory. */
export function reality(directory: string): Map<string, Kind> {
  const names = readdirSync(directory)
  return new Map(names.map((name) => [join(directory, name), kindAt(join(directory, name))]))
}

function kindAt(path: string): Kind {
  const stats = lstatSync(path)
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

export const RENAME_EXCHANGE = 2
export const RENAME_WHITEOUT = 4

const OPERATIONS = { [RENAME_EXCHANGE]: 'exchange', [RENAME_WHITEOUT]: 'whiteout' }

/** Calls renameat2(2), which Node lacks. */
export function renameWith(flags: keyof typeof OPERATIONS, from: string, to: string): void {
  execFileSync(compile('operations'), [OPERATIONS[flags], from, to])
}
