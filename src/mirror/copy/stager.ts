import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import { atOnce, leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { textOf } from '../../name_key.ts'
import { sameKey } from '../../volume/read_file.ts'
import type { Generation } from '../plan/merge.ts'
import {
  isCopyOf,
  leavesOf,
  type Missing,
  type SourceNode,
  type SourceTree,
  type TargetFile,
  type TargetNode,
  type TargetTree,
} from '../plan/tree.ts'
import { codeOf, losesSource, reasonOf, Torn } from '../source/errors.ts'
import { type Rest, type Stillness, TWO_TICKS } from '../source/rest.ts'
import type { Snapshot } from '../source/snapshot.ts'
import { beneath, type SourceHandle } from '../source/source_handle.ts'
import { digestFile, holdsTheSame } from './safe_copy.ts'
import type { StagingArea } from './staging_area.ts'

/** A source's part of the target, its new files ready in the staging directory. */
export interface Staged {
  /** All but the generation and `..data`. */
  readonly entries: Map<string, TargetNode>
  /** The generation, by its name in the source; undefined if the source has none, or it could not be had: its keys keep their last good version. */
  readonly generation: Generation | undefined
  /** The entries that should be there, and are not. */
  readonly missing: readonly Missing[]
  /** The paths of missing entries of which the target has no older version either. */
  readonly wanting: ReadonlySet<string>
  /** Copies that could not be written. */
  readonly failures: readonly InotifyError[]
}

/** The source's part so far, and the findings of the passes before. */
export interface Before {
  readonly target: TargetTree
  /** The source's part of the target, as it added that itself. */
  readonly own: ReadonlyMap<string, TargetNode> | undefined
  /** The source's generation as the target shows it. */
  readonly generation: Generation | undefined
  /** Which paths of the source to read again, though their stat keys have not changed. */
  readonly rest: Rest
}

/** A flat file that has been copied and must still prove that nobody is writing to it. */
interface Unsettled {
  readonly directory: string
  readonly name: string
  readonly siblings: Map<string, TargetNode>
  readonly copy: TargetFile
  readonly before: TargetNode | undefined
}

/** Copies what differs of a source's directories, entry by entry, and notes down what cannot be had. Serves one pass. */
export class Stager {
  readonly #missing: Missing[] = []
  readonly #failures: InotifyError[] = []
  readonly #wanting = new Set<string>()
  readonly #work: StagingArea
  readonly #stillness: Stillness
  readonly #before: Before
  // An entry that another source has put there goes when that source drops it.
  readonly #own: ReadonlySet<TargetNode>
  readonly #unsettled: Unsettled[] = []

  constructor(work: StagingArea, stillness: Stillness, before: Before) {
    this.#work = work
    this.#stillness = stillness
    this.#before = before
    this.#own = new Set([...(before.own?.values() ?? [])].flatMap(leavesOf))
  }

  /**
   * Copies what differs from the target. An entry that cannot be copied keeps what the target has of it, if anything, and is
   * reported. Throws {@link Torn} if a generation changed while it was read: it is published whole or not at all.
   *
   * @param held the directory behind `..data`
   */
  async stage(
    root: SourceHandle,
    { tree, data, generation: source }: Snapshot,
    held: DirectoryHandle | undefined,
  ): Promise<Staged> {
    const flat = [...tree.entries].filter(
      ([name]) => name !== data && (name !== '..data' || data === undefined),
    )
    const { entries } = await this.#directory(
      root,
      { ...tree, entries: new Map(flat) },
      this.#before.target,
      '',
    )
    await this.#settle(root)
    const generation = data === undefined ? undefined : await this.#current(source, data, held)
    const [missing, wanting, failures] = [this.#missing, this.#wanting, this.#failures]
    return { entries, generation, missing, wanting, failures }
  }

  /** Returns a directory as the target shall have it. Its new files are copied, but must be settled. */
  async #directory(
    held: SourceHandle,
    source: SourceTree,
    before: TargetTree | undefined,
    path: string,
  ): Promise<TargetTree> {
    return await treeOf(source, async (name, node, siblings) => {
      const entry = before?.entries.get(name)
      const isLedAstray = node.kind === 'unreadable' && node.linksOutside && entry?.kind === 'link'
      const had = isLedAstray ? undefined : entry
      return await this.#attempt(`${path}${name}`, had, () =>
        this.#entry(held, name, node, had, path, siblings),
      )
    })
  }

  /**
   * Waits until the files copied have been left alone for `quiet` ms and takes back those that have not: a writer that
   * truncates and writes is not to be seen half-way. One that pauses for longer cannot be told from one that is done.
   */
  async #settle(root: SourceHandle): Promise<void> {
    if (this.#unsettled.length === 0) return
    const { quiet, signal } = this.#stillness
    await sleep(Math.max(quiet, TWO_TICKS), undefined, { signal })
    await atOnce(this.#unsettled, async ({ directory, name, siblings, copy, before }) => {
      const settled = await this.#attempt(`${directory}${name}`, before, async () => {
        const above = directory.split('/').slice(0, -1)
        const digest = await beneath(root, above, (held) => digestFile(held, name, copy.key))
        if (digest !== copy.digest) throw new Torn('the content changed under the same stat key')
        return copy
      })
      if (settled === undefined) siblings.delete(name)
      else siblings.set(name, settled)
    })
  }

  /** Returns the directory behind `..data`; undefined if it could not be copied completely. */
  async #current(
    source: Snapshot['generation'],
    data: string,
    held: DirectoryHandle | undefined,
  ): Promise<Generation | undefined> {
    if (typeof source === 'string') return this.#skip('..data', source)
    const { generation: had, rest } = this.#before
    const isCopy = had?.name === data && isCopyOf(had.tree, source)
    if (isCopy && !rest.isUnsureIn(data)) return had
    if (held === undefined) throw new Torn(`${textOf(data)} has only just become a directory`)
    // Nothing is made in the target of what it has: whoever watches that recursively would hear of it.
    if (isCopy && (await holdsTheSame(held, had.tree))) return had
    // As its readers know it: its own name is another in each version.
    const copy = await this.#generation(held, source, '..data')
    return copy && { name: data, tree: copy }
  }

  /** Copies a generation, which its writer does not touch any more: no need to settle. undefined if not all of it could be. */
  async #generation(held: SourceHandle, source: SourceTree, path: string): Promise<TargetTree | undefined> {
    const copy = await treeOf(source, async (name, node) => {
      const at = `${path}/${name}`
      return await this.#attemptExactly(at, async () => {
        if (node.kind === 'link') return node
        if (node.kind === 'unreadable') throw new Error(node.reason)
        if (node.kind === 'file') return this.#work.copy(held, name, node, at, false)
        await using child = await held.directory(name)
        return await this.#generation(child, node, at)
      })
    })
    return copy.entries.size === source.entries.size ? copy : undefined
  }

  async #entry(
    held: SourceHandle,
    name: string,
    node: SourceNode,
    had: TargetNode | undefined,
    path: string,
    siblings: Map<string, TargetNode>,
  ): Promise<TargetNode> {
    if (node.kind === 'link') return node
    if (node.kind === 'unreadable') throw new Error(node.reason)
    if (node.kind === 'directory') {
      await using child = await held.directory(name)
      const before = had?.kind === 'directory' ? had : undefined
      return await this.#directory(child, node, before, `${path}${name}/`)
    }
    const { rest } = this.#before
    const isOwn = had?.kind === 'file' && this.#own.has(had)
    const isKnown = isOwn && sameKey(had.key, node.key)
    if (isKnown && !rest.isUnsure(path + name)) return had
    if (had?.kind === 'file' && had.key.size > 0n && node.key.size === 0n)
      rest.expectMore(path + name, this.#stillness.quiet)
    const isSame =
      isOwn && had.key.size === node.key.size && (await digestFile(held, name, node.key)) === had.digest
    if (isSame && isKnown) return had
    const copy = isSame
      ? { ...node, digest: had.digest }
      : await this.#work.copy(held, name, node, `${path}${name}`, true)
    this.#unsettled.push({ directory: path, name, siblings, copy, before: had })
    return copy
  }

  /** Attempts as {@link #attemptExactly}; falls back to the entry that the target `had`. */
  async #attempt(
    path: string,
    had: TargetNode | undefined,
    make: () => Promise<TargetNode>,
  ): Promise<TargetNode | undefined> {
    let made: TargetNode | undefined
    try {
      made = await this.#attemptExactly(path, make)
    } catch (error) {
      if (!(error instanceof Torn)) throw error
      this.#skip(path, `has not held still yet: ${error.message}`, true)
    }
    if (made === undefined && had === undefined) this.#wanting.add(path)
    return made ?? had
  }

  /** Runs `make`. Reports a failure and returns undefined; rethrows errors that concern more than the entry. */
  async #attemptExactly<T>(path: string, make: () => Promise<T>): Promise<T | undefined> {
    try {
      return await make()
    } catch (error) {
      if (error instanceof Torn || losesSource(error)) throw error
      if (error instanceof InotifyError) this.#failures.push(error)
      // Gone since it was listed: the next pass sees its successor.
      else this.#skip(path, reasonOf(error), codeOf(error) === 'ENOENT')
      return undefined
    }
  }

  #skip(path: string, reason: string, isPassing = false): undefined {
    this.#missing.push({ path, reason, isPassing })
  }
}

/**
 * Makes a directory of what can be had of the source's entries. They are in its order, whichever was ready first: a watcher of the target hears of them in
 * this order.
 *
 * @param make is given the entries as well, which are there when all are made
 */
async function treeOf(
  source: SourceTree,
  make: (name: string, node: SourceNode, entries: Map<string, TargetNode>) => Promise<TargetNode | undefined>,
): Promise<TargetTree> {
  const entries = new Map<string, TargetNode>()
  const made = new Map<string, TargetNode | undefined>()
  await leavesAtOnce(source.entries, async (name, node) => {
    made.set(name, await make(name, node, entries))
  })
  for (const name of source.entries.keys()) {
    const node = made.get(name)
    if (node !== undefined) entries.set(name, node)
  }
  return { kind: 'directory', key: source.key, entries }
}
