import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Root } from '../roots/root.ts'
import { encodeSaved, type SavedRoot } from '../saved/format.ts'
import { type Seen, savedDirectories, savedEntry } from '../saved/save.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/**
 * Writes down what is believed, which is what has been told: names and inode numbers from the tree, and beside each the stat that a walk
 * sees. The walk may see newer stats than were told, so whatever has changed since the last moment up to which all had been told is in doubt.
 * To be called within a task: nothing is told meanwhile. Rejects if the file cannot be written.
 */
export async function writeSnapshot(path: string, context: EngineContext): Promise<void> {
  const { system, pending, forest, looker } = context
  const { saving } = system
  const toldUntil = pending.consistentUntil - CLOCK_SLACK_MS
  const standing = forest.standing()
  const tops = standing.flatMap(({ isPresent, top }) => (isPresent && top !== undefined ? [top] : []))
  const seen = await looker.see(tops)
  const roots: SavedRoot[] = []
  for (const root of standing) roots.push(await savedOf(root, seen, toldUntil, context))
  await saving.write(path, await encodeSaved({ bootId: await saving.bootId(), toldUntil, roots }))
}

async function savedOf(
  root: Root,
  seen: Seen,
  toldUntil: number,
  { system, pending }: EngineContext,
): Promise<SavedRoot> {
  const { path, top, file } = root
  const unknown = { type: '', source: '', device: '' }
  const filesystem = await system.saving.filesystemOf(path).catch(() => unknown)
  const entry = file?.entry
  if (entry !== undefined)
    return { path, kind: 'file', filesystem, entry: savedEntry(entry, entry, toldUntil) }
  if (top === undefined) return { path, kind: 'absent', filesystem }
  const doubtedSince = (directory: Directory) => {
    if (pending.failed.covers(directory)) return Number.NEGATIVE_INFINITY
    const { mount } = directory
    if (!keepsStat(directory)) return toldUntil
    // A poll under way may have seen a file before another write within the same tick of the clock of file times.
    return Math.min(toldUntil, (mount.leftover.get(directory) ?? mount.toldUntil) - CLOCK_SLACK_MS)
  }
  const directories = savedDirectories(top, seen, doubtedSince)
  return { path, kind: 'directory', filesystem, directories }
}
