import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { textOf } from '../../name_key.ts'
import { isCopyOf, type TargetTree } from '../plan/tree.ts'
import { Torn } from '../source/errors.ts'
import type { Stillness } from '../source/rest.ts'
import type { Snapshot } from '../source/snapshot.ts'
import type { SourceHandle } from '../source/source_handle.ts'
import { digestFile } from './safe_copy.ts'
import type { Before, Staged, StagedGeneration } from './staged.ts'
import { Stager } from './stager.ts'
import type { StagingArea } from './staging_area.ts'

/**
 * Copies what differs from the target. An entry that cannot be copied keeps what the target has of it, if anything, and is
 * reported. Throws {@link Torn} if a generation changed while it was read: it is published whole or not at all.
 *
 * @param held the directory behind `..data`
 */
export async function stage(
  root: SourceHandle,
  snapshot: Snapshot,
  held: DirectoryHandle | undefined,
  before: Before,
  work: StagingArea,
  stillness: Stillness,
): Promise<Staged> {
  const stager = new Stager(work, stillness, before)
  const { tree, data } = snapshot
  const flat = new Map(
    [...tree.entries].filter(([name]) => name !== data && (name !== '..data' || data === undefined)),
  )
  const had = { target: before.target, own: before.own }
  const { entries } = await stager.directory(root, { ...tree, entries: flat }, had, '')
  await stager.settle(root)
  if (data === undefined) return { ...stager.found, entries, generation: undefined }
  const generation = await stageGeneration(snapshot.generation, data, held, before, stager)
  return { ...stager.found, entries, generation }
}

/** undefined if it could not be copied completely. */
async function stageGeneration(
  source: Snapshot['generation'],
  data: string,
  held: DirectoryHandle | undefined,
  { generation: had, rest }: Before,
  stager: Stager,
): Promise<StagedGeneration | undefined> {
  if (typeof source === 'string') return stager.skip('..data', source)
  const isCopy = had?.from === data && isCopyOf(had.tree, source)
  if (isCopy && !rest.isUnsureIn(data)) return had
  if (held === undefined) throw new Torn(`${textOf(data)} has only just become a directory`)
  // Nothing is made in the target of what it has: whoever watches that recursively would hear of it.
  if (isCopy && (await holdsTheSame(held, had.tree))) return had
  // As its readers know it: its own name is another in each version.
  const copy = await stager.generation(held, source, '..data')
  return copy && { from: data, tree: copy }
}

/** Returns true if a directory that has all of a tree's stat keys has the tree's content, too. False if it cannot be read now: its copy tells why. */
async function holdsTheSame(held: SourceHandle, tree: TargetTree): Promise<boolean> {
  let isSame = true
  await leavesAtOnce(tree.entries, async (name, node) => {
    if (node.kind === 'link' || !isSame) return
    try {
      if (node.kind === 'file') {
        isSame = (await digestFile(held, name, node.key)) === node.digest && isSame
        return
      }
      await using child = await held.directory(name)
      isSame = (await holdsTheSame(child, node)) && isSame
    } catch {
      isSame = false
    }
  })
  return isSame
}
