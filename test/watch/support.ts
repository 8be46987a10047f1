import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Change, Kind } from '../../src/index.ts'
import { linux } from '../../src/watch/linux.ts'
import type { WatchOptions } from '../../src/watch/options.ts'
import type { WatchSystem } from '../../src/watch/system.ts'
import { Watcher } from '../../src/watch/watcher.ts'

/** A ready watcher that goes with the test, and the changes that it has reported so far. */
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
  /** What was reported since the last call, of all that was done before this one. */
  const told = async () => {
    await watcher.sync()
    return changes.splice(0)
  }
  return { watcher, changes, told }
}

/** A change in a few words: 'create file a', 'rename file a b', 'rename file a b replaced', 'lost .'. Paths relative to `base`. */
export function inWords(change: Change, base: string): string {
  const relative = (path: string) => (path === base ? '.' : path.slice(base.length + 1))
  if (change.type === 'rename') {
    const end = change.replaced ? ' replaced' : ''
    return `rename ${change.kind} ${relative(change.from)} ${relative(change.path)}${end}`
  }
  return 'kind' in change
    ? `${change.type} ${change.kind} ${relative(change.path)}`
    : `${change.type} ${relative(change.path)}`
}

/** {@link inWords} of each; a modify that follows a create of the same path belongs to it: a poll sees both as one. */
export function story(changes: Change[], base: string): string[] {
  const lines: string[] = []
  for (const change of changes) {
    const line = inWords(change, base)
    const isWriting = change.type === 'modify' && lines.at(-1) === line.replace('modify', 'create')
    // Nor can a poll tell two writes from one.
    if (!isWriting && !(change.type === 'modify' && lines.at(-1) === line)) lines.push(line)
  }
  return lines
}

/** What a consumer believes that knows nothing but the changes. */
export class Replay {
  readonly names = new Map<string, Kind>()
  // Put aside by a rename with `replaced: false`: an exchange, whose next rename takes it from here.
  readonly #aside = new Map<string, Kind>()

  /** Whether no exchange is half told. */
  get isWhole(): boolean {
    return this.#aside.size === 0
  }

  apply(changes: Iterable<Change>): void {
    for (const change of changes) {
      if (change.type === 'create') this.names.set(change.path, change.kind)
      else if (change.type === 'delete') this.names.delete(change.path)
      else if (change.type === 'rename') this.#rename(change.from, change.path, change.kind, change.replaced)
    }
  }

  #rename(from: string, path: string, kind: Kind, replaced: boolean): void {
    if (!this.#aside.delete(from)) this.names.delete(from)
    const there = this.names.get(path)
    if (there !== undefined && !replaced) this.#aside.set(path, there)
    this.names.set(path, kind)
  }
}

/** Names and kinds as they are. */
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

/** Numbers from 0 to n - 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}

const RENAMEAT2 = `
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
a, b, flags = sys.argv[1:]
if libc.renameat2(-100, a.encode(), -100, b.encode(), int(flags)) != 0:
    sys.exit('errno %d' % ctypes.get_errno())
`

export const RENAME_EXCHANGE = 2
export const RENAME_WHITEOUT = 4

/** renameat2(2), which Node does not have. */
export function renameWith(flags: number, from: string, to: string): void {
  execFileSync('python3', ['-c', RENAMEAT2, from, to, String(flags)])
}
