import type { Entry, Stat } from '../scan/entry.ts'
import { pack } from '../scan/packed_entries.ts'
import type { SourceChoice } from '../source_choice.ts'
import { type Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TornError } from './bytes.ts'
import { type SavedEntry, SectionReader } from './format.ts'

// In place of a time: compared with any, it is another.
const UNLIKE_ANY = Number.NaN

const UNSEEN: Stat = {
  mode: 0,
  uid: 0,
  gid: 0,
  nlink: 0,
  size: 0,
  mtime: UNLIKE_ANY,
  ctime: UNLIKE_ANY,
  ctimeMs: 0,
  btimeMs: 0,
}

/** What the numbers of a snapshot mean by now. */
export interface Meaning {
  /** Inode numbers and times of birth are of the filesystem that is there. */
  readonly isNumbered: boolean
  /** So are the ids of mounts below it. */
  readonly isSameBoot: boolean
}

export interface PlanterParts {
  tree: Pick<Tree, 'add' | 'pathOf'>
  sourceChoice: Pick<SourceChoice, 'chooseBelow'>
}

/** What was saved in a directory's section is believed of it from now on, each entry with its stat, to be compared with what is there. Rejects with {@link TornError}. */
export async function plant(
  { tree, sourceChoice }: PlanterParts,
  top: Directory,
  section: Buffer,
  meaning: Meaning,
): Promise<void> {
  const reader = new SectionReader(section)
  const directories = [top]
  for (let i = 0; i < directories.length; i++) {
    const directory = directories[i] as Directory
    const others: Array<[string, Entry]> = []
    for (let left = reader.directory(); left > 0; left--) {
      const { name, ...saved } = reader.entry()
      if (name === '' || name === '.' || name === '..' || name.includes('/'))
        throw new TornError('what it says is a name is none')
      const entry = entryOf(saved, meaning)
      if (!saved.isEntered) {
        others.push([name, entry])
        continue
      }
      const { base } = saved
      const mount =
        base === undefined ? directory.mount : new WatchedMount('poll', '', 0, base.link !== undefined)
      const below = tree.add(directory, name, entry.ino, mount)
      below.stat = entry.stat
      below.isListed = true
      if (base !== undefined) await begin(base, directory, below)
      directories.push(below)
    }
    directory.isListed = true
    if (others.length > 0) directory.takePacked(pack(others))
  }
  reader.end()

  /** Where that is another by now, what was saved of it is gone, and what is there is new. */
  async function begin(
    { mountId, link }: NonNullable<SavedEntry['base']>,
    parent: Directory,
    base: Directory,
  ): Promise<void> {
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

/** What is believed of what was saved. */
export function entryOf({ entry, isInDoubt }: SavedEntry, { isNumbered }: Meaning): Entry {
  const { kind, stat } = entry
  const ino = isNumbered ? entry.ino : 0
  if (!isInDoubt)
    return { kind, ino, stat: isNumbered || stat === undefined ? stat : { ...stat, btimeMs: 0 } }
  const btimeMs = isNumbered ? (stat?.btimeMs ?? 0) : 0
  // Of a directory its mode tells whether it is otherwise, and of all else its times. Nothing has a mode of 0, which has no type.
  return { kind, ino, stat: { ...(stat ?? UNSEEN), mode: 0, mtime: UNLIKE_ANY, btimeMs } }
}
