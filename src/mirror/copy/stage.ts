import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import { atOnce, leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { textOf } from '../../name_key.ts'
import {
  isCopyOf,
  type Skipped,
  type SourceFile,
  type SourceNode,
  type SourceTree,
  sameKey,
  type TargetFile,
  type TargetNode,
  type TargetTree,
} from '../plan/tree.ts'
import { whyNoGeneration } from '../source/data_link.ts'
import { losesSource, reasonOf, Torn } from '../source/errors.ts'
import type { Snapshot } from '../source/snapshot.ts'
import type { SourceHandle } from '../source/source_handle.ts'
import { digestBeneath, holdsTheSame } from './compare.ts'
import { copyFile, digestFile } from './safe_copy.ts'
import type { StagingArea } from './staging_area.ts'

/** What a source adds to the target, its new files ready in the staging directory. */
export interface Staged {
  /** All but the generation and `..data`. */
  readonly entries: Map<string, TargetNode>
  /** undefined where there is none, or it could not be had: its keys keep their last good version. */
  readonly generation: StagedGeneration | undefined
  /** What should be there, and is not. */
  readonly missing: readonly Missing[]
  /** Copies that could not be written. */
  readonly failures: readonly InotifyError[]
  /** For the next pass. */
  readonly emptied: Emptied
}

/** An entry that could not be copied. */
export interface Missing extends Skipped {
  /** Whether it is being written: at another moment it can be. */
  readonly isPassing: boolean
}

/** The directory behind `..data`. */
export interface StagedGeneration {
  /** Its name in the source. */
  readonly from: string
  readonly tree: TargetTree
}

/** What a source has added, and what is known of it, from the passes before. */
export interface Before {
  readonly target: TargetTree
  /** What this source has added to that, as it did itself. */
  readonly own: ReadonlyMap<string, TargetNode> | undefined
  /** What the target shows of this source's generation. */
  readonly generation: StagedGeneration | undefined
  /** Whether that has been read twice, far enough apart to be sure of it by its stat keys. */
  readonly isConfirmed: boolean
  readonly emptied: Emptied
}

/** Since when (performance.now()) which version of a flat file has been empty that was not before. */
export type Emptied = ReadonlyMap<string, { readonly key: StatKey; readonly since: number }>

/**
 * How many times `quiet` such a file must hold still. Whoever rewrites a file in place truncates it first, and ext4 was seen
 * to hold the writer up for 0.2 s, on a busy disk for 3 s, between that and the first byte.
 */
const EMPTY_PATIENCE = 50

/**
 * ms between two reads that are to show whether a file is still being written, at least. A kernel's clock for ctimes ticks every 1 to 10 ms: of two writes within a tick
 * the second may change nothing but the content.
 */
export const TWO_TICKS = 10

/** How long a flat file must hold still (ms), and what ends the wait for it: it is no promise to anybody then. */
export interface Stillness {
  readonly quiet: number
  readonly signal: AbortSignal
}

/** A flat file that has been copied and must still prove that nobody is writing to it. */
interface Unsettled {
  readonly directory: string
  readonly name: string
  readonly siblings: Map<string, TargetNode>
  readonly copy: TargetFile
  readonly before: TargetNode | undefined
}

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
  work: () => Promise<StagingArea>,
  stillness: Stillness,
): Promise<Staged> {
  const stager = new Stager(work, stillness, before.emptied)
  const { tree, data } = snapshot
  const flat = new Map(
    [...tree.entries].filter(([name]) => name !== data && (name !== '..data' || data === undefined)),
  )
  const had = { target: before.target, own: before.own }
  const { entries } = await stager.directory(root, { ...tree, entries: flat }, had, '')
  await stager.settle(root)
  if (data === undefined) return { ...stager.found, entries, generation: undefined }
  const generation = await stageGeneration(snapshot, data, held, before, stager)
  return { ...stager.found, entries, generation }
}

/** undefined if it could not be copied completely. */
async function stageGeneration(
  { tree }: Snapshot,
  data: string,
  held: DirectoryHandle | undefined,
  { generation: had, isConfirmed }: Before,
  stager: Stager,
): Promise<StagedGeneration | undefined> {
  const why = whyNoGeneration(tree, data)
  const source = tree.entries.get(data)
  if (why !== undefined || source?.kind !== 'directory') return stager.skip('..data', why ?? '')
  const isCopy = had?.from === data && isCopyOf(had.tree, source)
  if (isCopy && isConfirmed) return had
  if (held === undefined) throw new Torn(`${textOf(data)} has only just become a directory`)
  // Nothing is made in the target of what it has: whoever watches that recursively would hear of it.
  if (isCopy && (await holdsTheSame(held, had.tree))) return had
  // As its readers know it: its own name is another in each version.
  const copy = await stager.generation(held, source, '..data')
  return copy && { from: data, tree: copy }
}

/** What the target has of a directory, and what of that this source has added. */
interface Had {
  readonly target: TargetTree | undefined
  readonly own: ReadonlyMap<string, TargetNode> | undefined
}

class Stager {
  readonly found = {
    missing: [] as Missing[],
    failures: [] as InotifyError[],
    emptied: new Map<string, { readonly key: StatKey; readonly since: number }>(),
  }
  readonly #work: () => Promise<StagingArea>
  readonly #stillness: Stillness
  readonly #emptiedBefore: Emptied
  #unsettled: Unsettled[] = []
  #alone: Promise<unknown> = Promise.resolve()

  constructor(work: () => Promise<StagingArea>, stillness: Stillness, emptiedBefore: Emptied) {
    this.#work = work
    this.#stillness = stillness
    this.#emptiedBefore = emptiedBefore
  }

  skip(path: string, reason: string, isPassing = false): undefined {
    this.found.missing.push({ path, reason, isPassing })
  }

  /** What the target shall have for a directory. Its new files are copied, but must be settled. */
  async directory(held: SourceHandle, source: SourceTree, before: Had, path: string): Promise<TargetTree> {
    const entries = new Map<string, TargetNode>()
    await leavesAtOnce(source.entries, async (name, node) => {
      const entry = before.target?.entries.get(name)
      const isLedAstray = node.kind === 'unreadable' && node.linksOutside && entry?.kind === 'link'
      const had = isLedAstray ? undefined : entry
      const made = await this.#attempt(`${path}${name}`, had, () =>
        this.#entry(held, name, node, { had, own: before.own?.get(name) }, path, entries),
      )
      if (made !== undefined) entries.set(name, made)
    })
    sortAs(source.entries, entries)
    return { kind: 'directory', key: source.key, entries }
  }

  /**
   * Waits until the files copied have been left alone for `quiet` ms and takes back those that have not: a writer that
   * truncates and writes is not to be seen half-way. One that pauses for longer cannot be told from one that is done.
   */
  async settle(root: SourceHandle): Promise<void> {
    const unsettled = this.#unsettled
    this.#unsettled = []
    if (unsettled.length === 0) return
    const { quiet, signal } = this.#stillness
    await sleep(Math.max(quiet, TWO_TICKS), undefined, { signal })
    await atOnce(unsettled, async ({ directory, name, siblings, copy, before }) => {
      const settled = await this.#attempt(`${directory}${name}`, before, async () => {
        const digest = await digestBeneath(root, directory, name, copy.key)
        if (digest !== copy.digest) throw new Torn('the content changed under the same stat key')
        return copy
      })
      if (settled === undefined) siblings.delete(name)
      else siblings.set(name, settled)
    })
  }

  /** Copies a generation, which its writer does not touch any more: no need to settle. undefined if not all of it could be. */
  async generation(held: SourceHandle, source: SourceTree, path: string): Promise<TargetTree | undefined> {
    const entries = new Map<string, TargetNode>()
    let complete = true
    await leavesAtOnce(source.entries, async (name, node) => {
      const at = `${path}/${name}`
      const made = await this.#attemptExactly(at, async () => {
        if (node.kind === 'link') return node
        if (node.kind === 'unreadable') throw new Error(node.reason)
        if (node.kind === 'file') return this.#copy(held, name, node, at)
        await using child = await held.directory(name)
        return await this.generation(child, node, at)
      })
      if (made === undefined) complete = false
      else entries.set(name, made)
    })
    sortAs(source.entries, entries)
    return complete ? { kind: 'directory', key: source.key, entries } : undefined
  }

  async #entry(
    held: SourceHandle,
    name: string,
    node: SourceNode,
    { had, own }: { had: TargetNode | undefined; own: TargetNode | undefined },
    path: string,
    siblings: Map<string, TargetNode>,
  ): Promise<TargetNode> {
    if (node.kind === 'link') return node
    if (node.kind === 'unreadable') throw new Error(node.reason)
    if (node.kind === 'directory') {
      await using child = await held.directory(name)
      const before = {
        target: had?.kind === 'directory' ? had : undefined,
        own: own?.kind === 'directory' ? own.entries : undefined,
      }
      return await this.directory(child, node, before, `${path}${name}/`)
    }
    // What another source has put there goes when that one has it no more.
    const isOwn = had?.kind === 'file' && had === own
    if (isOwn && sameKey(had.key, node.key)) return had
    if (had?.kind === 'file' && had.key.size > 0n && node.key.size === 0n)
      this.#expectMore(path + name, node.key)
    const isSame =
      isOwn && had.key.size === node.key.size && (await digestFile(held, name, node.key)) === had.digest
    const copy = isSame
      ? { ...node, digest: had.digest }
      : await this.#copy(held, name, node, `${path}${name}`)
    this.#unsettled.push({ directory: path, name, siblings, copy, before: had })
    return copy
  }

  /** Throws {@link Torn} while a file that has become empty may still be about to be written. */
  #expectMore(path: string, key: StatKey): void {
    const before = this.#emptiedBefore.get(path)
    const since = before !== undefined && sameKey(before.key, key) ? before.since : performance.now()
    this.found.emptied.set(path, { key, since })
    if (performance.now() - since < this.#stillness.quiet * EMPTY_PATIENCE)
      throw new Torn('it has been emptied')
  }

  async #copy(held: SourceHandle, name: string, file: SourceFile, at: string): Promise<TargetFile> {
    try {
      return await this.#copyOnce(held, name, file, at)
    } catch (error) {
      if (!(error instanceof InotifyError && ['ENOSPC', 'EDQUOT'].includes(error.code))) throw error
    }
    // What is copied beside it may have taken the room, and not fit itself: one after another what fits does.
    const alone = this.#alone.then(() => this.#copyOnce(held, name, file, at))
    this.#alone = alone.catch(() => {})
    return await alone
  }

  async #copyOnce(held: SourceHandle, name: string, { key }: SourceFile, at: string): Promise<TargetFile> {
    const work = await this.#work()
    const place = work.next()
    let digest: string
    try {
      const to = { directory: work.held, name: place, shown: `${work.shown}/${at}` }
      digest = await copyFile(held, name, key, to)
    } catch (error) {
      // What was written so far would take the room on a full tmpfs from the files that still fit. If even this fails, the
      // end of the pass clears it.
      await work.held.calls.unlink(work.held.at(place)).catch(() => {})
      throw error
    }
    const copy: TargetFile = { kind: 'file', key, digest }
    work.files.set(copy, place)
    return copy
  }

  /** As {@link #attemptExactly}; where that has nothing, what the target `had`. */
  async #attempt(
    path: string,
    had: TargetNode | undefined,
    make: () => Promise<TargetNode>,
  ): Promise<TargetNode | undefined> {
    try {
      return (await this.#attemptExactly(path, make)) ?? had
    } catch (error) {
      if (!(error instanceof Torn)) throw error
      this.skip(path, `has not held still yet: ${error.message}`, true)
      return had
    }
  }

  /** Runs `make`, reports its failure and returns undefined then; passes on what concerns more than the entry. */
  async #attemptExactly<T>(path: string, make: () => Promise<T>): Promise<T | undefined> {
    try {
      return await make()
    } catch (error) {
      if (error instanceof Torn || losesSource(error)) throw error
      if (error instanceof InotifyError) this.found.failures.push(error)
      else this.skip(path, reasonOf(error))
      return undefined
    }
  }
}

/** The order is that of the names, whatever was ready first: it is also the one in which a watcher of the target hears of them. */
function sortAs(order: ReadonlyMap<string, unknown>, entries: Map<string, TargetNode>): void {
  const found = new Map(entries)
  entries.clear()
  for (const name of order.keys()) {
    const node = found.get(name)
    if (node !== undefined) entries.set(name, node)
  }
}
