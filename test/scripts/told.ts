import { relative } from 'node:path'
import type { Change } from '../../src/index.ts'
import type { Expectation, Group, Source } from './parse.ts'
import { isWithin } from './replay.ts'
import { spell, textOf } from './words.ts'

/** Returns the change with its paths as text: with `encoding: 'buffer'` they are bytes. */
export function legible(change: Change): Change {
  const text = (path: unknown) => (Buffer.isBuffer(path) ? textOf(path) : String(path))
  const path = text(change.path)
  if (change.type === 'rename') return { ...change, path, from: text(change.from) }
  if (change.type === 'exchange') return { ...change, path, other: text(change.other) }
  return { ...change, path }
}

/**
 * Describes a change as scripts do: 'create file a', 'rename file a b replaced', 'lost .'. Paths are relative
 * to `base`.
 */
export function inWords(change: Change, base: string): string {
  const name = (path: string) => spell(relative(base, path) || '.')
  if (change.type === 'exchange') {
    const { path, kind, other, otherKind } = change
    const ends = [`${kind} ${name(path)}`, `${otherKind} ${name(other)}`]
    return ['exchange', ...(path < other ? ends : ends.reverse())].join(' ')
  }
  const words = [change.type, 'mask' in change ? change.kind : '', name(change.path)]
  if (change.type === 'rename') words.splice(2, 0, name(change.from))
  if (change.type === 'rename' && change.replaced) words.push('replaced')
  return words.filter((word) => word !== '').join(' ')
}

/**
 * Returns the changes of a block of operations in words. Leaves out changes that say nothing new and depend
 * on the time of a look:
 *
 * - modify and attrib of a path that was created in the same block;
 * - deletes below a directory that is deleted later;
 * - a modify (attrib) after another of the same path. `counted` keeps these, for tests that count them.
 */
export function story(changes: readonly Change[], base: string, counted = false): string[] {
  const created = new Set<string>()
  const within = (path: string) => [...created].filter((other) => isWithin(other, path))
  const lines: string[] = []
  for (const [i, change] of changes.entries()) {
    const { type, path } = change
    const alters = type === 'modify' || type === 'attrib'
    if (alters && created.has(path)) continue
    if (type === 'delete' && changes.slice(i + 1).some((later) => takesWith(later, path))) continue

    if (type === 'create') created.add(path)
    else if (type === 'delete') for (const gone of within(path)) created.delete(gone)
    else if (type === 'rename') {
      const moved = within(change.from)
      for (const old of [...moved, ...within(path)]) created.delete(old)
      for (const old of moved) created.add(path + old.slice(change.from.length))
    } else if (type === 'exchange') {
      const [here, there] = [within(path), within(change.other)]
      for (const old of [...here, ...there]) created.delete(old)
      for (const old of here) created.add(change.other + old.slice(path.length))
      for (const old of there) created.add(path + old.slice(change.other.length))
    }
    const line = inWords(change, base)
    if (!alters || counted || lines.at(-1) !== line) lines.push(line)
  }
  return lines
}

function takesWith(change: Change, path: string): boolean {
  return change.type === 'delete' && change.path !== path && isWithin(path, change.path)
}

/** Returns the changes and the expected lines, in an order in which they are equal if they match. */
export function comparable(
  told: readonly string[],
  expected: Expectation,
  source: Source,
): [string[], string[]] {
  if (expected === 'anything') return [[], []]
  // A poll finds all changes at once, and tells them in an order of its own.
  const groups: Group[] =
    source === 'inotify' ? expected : [{ loose: true, lines: expected.flatMap(({ lines }) => lines) }]
  let at = 0
  const inOrder = groups.flatMap(({ loose, lines }, i) => {
    const start = at
    at = i === groups.length - 1 ? told.length : at + lines.length
    const part = told.slice(start, at)
    return loose ? part.toSorted() : part
  })
  return [
    [...inOrder, ...told.slice(at)],
    groups.flatMap(({ loose, lines }) => (loose ? lines.toSorted() : lines)),
  ]
}
