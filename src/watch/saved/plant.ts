import type { Entry } from '../scan/entry.ts'
import { pack, unpackString } from '../scan/packed_entries.ts'
import { type Directory, WatchedMount } from '../tree/directory.ts'
import type { SavedContext } from './context.ts'
import type { SavedBase, SavedDirectory } from './format.ts'

/** The present meaning of the numbers in a snapshot. */
export interface Meaning {
  /** True: inode numbers and times of birth are of the filesystem that is there. */
  readonly isNumbered: boolean
  /** True: so are the ids of mounts below it. */
  readonly isSameBoot: boolean
}

/**
 * Adds a directory's saved entries to the tree: they are known from now on, each with its stat, to be compared with what is there.
 *
 * @param names the way from the topmost directory that was saved to the one that `top` is; none: `top` is the topmost
 * @returns true if that directory was saved
 */
export async function plant(
  { tree, sourceChoice }: SavedContext,
  top: Directory,
  saved: readonly SavedDirectory[],
  meaning: Meaning,
  names: readonly string[],
): Promise<boolean> {
  const topmost = indexOf(saved, names)
  const planted: Array<Directory | undefined> = []
  for (const [i, { parent, self, base, entries }] of saved.entries()) {
    const above = planted[parent]
    if (above !== undefined) planted.push(await addBelow(above, self, base))
    else planted.push(i === topmost ? top : undefined)
    const directory = planted[i]
    if (directory === undefined) continue
    directory.isListed = true
    if (entries !== '') directory.takePacked(asMeant(entries, meaning))
  }
  return topmost >= 0

  async function addBelow(above: Directory, self: string, base: SavedBase | undefined): Promise<Directory> {
    const [[name, { ino, stat }]] = entriesIn(self, meaning) as [[string, Entry]]
    const mount = base === undefined ? above.mount : new WatchedMount(UNKNOWN, 0, base.link !== undefined)
    const below = tree.add(above, name, ino, mount)
    below.stat = stat
    if (base !== undefined) await begin(base, above, below)
    return below
  }

  /** Makes a directory a saved base. If another mount or target is there by now, the saved entries are gone, and those there are new. */
  async function begin({ mountId, link }: SavedBase, parent: Directory, base: Directory): Promise<void> {
    const { mount } = base
    mount.base = base
    mount.link = link
    mount.join(parent.mount)
    const choice = await sourceChoice.chooseBelow(tree.pathOf(base)).catch(() => undefined)
    if (!meaning.isSameBoot || choice === undefined || 'refused' in choice) return
    mount.follow(choice)
    mount.mountId = mountId
  }
}

/** The source of a saved base until it is seen which one it is. */
const UNKNOWN = { backend: 'poll', why: '' } as const

/** Returns the known entry for a saved one. */
export function entryAsMeant({ kind, ino, stat }: Entry, { isNumbered }: Meaning): Entry {
  return isNumbered ? { kind, ino, stat } : { kind, ino: 0, stat: stat && { ...stat, btimeMs: 0 } }
}

/** Finds the directory to which names lead from the topmost one; -1: it was not saved. */
function indexOf(saved: readonly SavedDirectory[], names: readonly string[]): number {
  let above = 0
  // No directory but the topmost, which has no name, lies in -1.
  for (const name of names)
    above = saved.findIndex(({ parent, self }) => parent === above && unpackString(self).has(name))
  return above
}

function entriesIn(packed: string, meaning: Meaning): Array<[string, Entry]> {
  return [...unpackString(packed)].map(([name, entry]) => [name, entryAsMeant(entry, meaning)])
}

function asMeant(packed: string, meaning: Meaning): string {
  return meaning.isNumbered ? packed : pack(entriesIn(packed, meaning))
}
