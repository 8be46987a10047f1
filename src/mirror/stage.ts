import { unlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../errors.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { currentGeneration, isFrom, nameGeneration } from './generation.ts'
import { losesSource, reasonOf, Torn } from './interrupted.ts'
import { copyFile, digestFile } from './safe_copy.ts'
import { type Snapshot, wasRemoved } from './snapshot.ts'
import type { Staging } from './staging.ts'
import {
  isCopyOf,
  type Skipped,
  type SourceFile,
  type SourceNode,
  type SourceTree,
  type StatKey,
  sameKey,
  type TargetFile,
  type TargetNode,
  type TargetTree,
} from './tree.ts'

/** What the target shall have, its new files ready in the staging directory. */
export interface Staged {
  readonly tree: TargetTree
  readonly skipped: readonly Skipped[]
  /** Copies that could not be written. */
  readonly failures: readonly InotifyError[]
  /** For the next pass. */
  readonly emptied: Emptied
}

/** Since when (performance.now()) which version of a flat file has been empty that was not before. */
export type Emptied = ReadonlyMap<string, { readonly key: StatKey; readonly since: number }>

/**
 * How many times `quiet` such a file must hold still. Whoever rewrites a file in place truncates it first, and ext4 was seen
 * to hold the writer up for 0.2 s, on a busy disk for 3 s, between that and the first byte.
 */
const EMPTY_PATIENCE = 50

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
 */
export async function stage(
  root: HeldDirectory,
  snapshot: Snapshot,
  target: TargetTree,
  staging: Staging,
  quiet: number,
  emptied: Emptied,
): Promise<Staged> {
  const stager = new Stager(staging, quiet, emptied)
  const { tree, data } = snapshot
  const flat = new Map(
    [...tree.entries].filter(([name]) => name !== data && (name !== '..data' || data === undefined)),
  )
  const staged = await stager.directory(root, { ...tree, entries: flat }, target, '')
  await stager.settle(root)
  if (data !== undefined && !(await addGeneration(root, snapshot, data, target, stager, staged.entries))) {
    // Links into a generation that is not there would dangle: all keeps its last good version.
    return { ...stager, tree: target }
  }
  return { ...stager, tree: staged }
}

/** Adds `..data` and its directory to `entries`; false if it could not be copied completely. */
async function addGeneration(
  root: HeldDirectory,
  { tree }: Snapshot,
  data: string,
  target: TargetTree,
  stager: Stager,
  entries: Map<string, TargetNode>,
): Promise<boolean> {
  const source = tree.entries.get(data)
  for (const [path, node] of [
    ['..data', tree.entries.get('..data')],
    [data, source],
  ] as const) {
    if (node?.kind !== 'unreadable') continue
    stager.skipped.push({ path, reason: node.reason })
    return false
  }
  if (source?.kind !== 'directory') throw new Torn(`..data names ${data}, which is no directory`)
  const current = currentGeneration(target)
  if (current !== undefined && isFrom(current, data) && isCopyOf(current.tree, source)) {
    entries.set(current.name, current.tree)
    entries.set('..data', { kind: 'link', to: current.name })
    return true
  }
  await using held = await openGeneration(root, data)
  const copy = await stager.generation(held, source, data)
  if (copy === undefined) return false
  if (wasRemoved(source.key, await held.stat())) throw new Torn(`${data} was removed`)
  const name = nameGeneration(target, data, copy)
  entries.set(name, copy)
  entries.set('..data', { kind: 'link', to: name })
  return true
}

async function openGeneration(root: HeldDirectory, data: string): Promise<HeldDirectory> {
  try {
    return await root.directory(data)
  } catch (error) {
    if (losesSource(error)) throw error
    throw new Torn(`${data} went: ${reasonOf(error)}`)
  }
}

class Stager {
  readonly skipped: Skipped[] = []
  readonly failures: InotifyError[] = []
  readonly emptied = new Map<string, { readonly key: StatKey; readonly since: number }>()
  readonly #staging: Staging
  readonly #quiet: number
  readonly #emptiedBefore: Emptied
  #unsettled: Unsettled[] = []

  constructor(staging: Staging, quiet: number, emptiedBefore: Emptied) {
    this.#staging = staging
    this.#quiet = quiet
    this.#emptiedBefore = emptiedBefore
  }

  /** What the target shall have for a directory. Its new files are copied, but must be settled. */
  async directory(
    held: HeldDirectory,
    source: SourceTree,
    before: TargetTree | undefined,
    path: string,
  ): Promise<TargetTree> {
    const entries = new Map<string, TargetNode>()
    for (const [name, node] of source.entries) {
      const had = before?.entries.get(name)
      const made = await this.#attempt(`${path}${name}`, had, () =>
        this.#entry(held, name, node, had, path, entries),
      )
      if (made !== undefined) entries.set(name, made)
    }
    return { kind: 'directory', key: source.key, entries }
  }

  /**
   * Waits until the files copied have been left alone for `quiet` ms and takes back those that have not: a writer that
   * truncates and writes is not to be seen half-way. One that pauses for longer cannot be told from one that is done.
   */
  async settle(root: HeldDirectory): Promise<void> {
    const unsettled = this.#unsettled
    this.#unsettled = []
    if (unsettled.length === 0) return
    await sleep(this.#quiet)
    for (const { directory, name, siblings, copy, before } of unsettled) {
      const settled = await this.#attempt(`${directory}${name}`, before, async () => {
        await using held = await root.descend(directory.slice(0, -1))
        const digest = await digestFile(held, name, copy.key)
        if (digest !== copy.digest) throw new Torn('the content changed under the same stat key')
        return copy
      })
      if (settled === undefined) siblings.delete(name)
      else siblings.set(name, settled)
    }
  }

  /** Copies a generation, which its writer does not touch any more: no need to settle. undefined if not all of it could be. */
  async generation(held: HeldDirectory, source: SourceTree, path: string): Promise<TargetTree | undefined> {
    const entries = new Map<string, TargetNode>()
    let complete = true
    for (const [name, node] of source.entries) {
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
    }
    return complete ? { kind: 'directory', key: source.key, entries } : undefined
  }

  async #entry(
    held: HeldDirectory,
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
      return await this.directory(child, node, before, `${path}${name}/`)
    }
    if (had?.kind === 'file' && sameKey(had.key, node.key)) return had
    if (had?.kind === 'file' && had.key.size > 0n && node.key.size === 0n)
      this.#expectMore(path + name, node.key)
    const copy = await this.#copy(held, name, node, `${path}${name}`)
    this.#unsettled.push({ directory: path, name, siblings, copy, before: had })
    return copy
  }

  /** Throws {@link Torn} while a file that has become empty may still be about to be written. */
  #expectMore(path: string, key: StatKey): void {
    const before = this.#emptiedBefore.get(path)
    const since = before !== undefined && sameKey(before.key, key) ? before.since : performance.now()
    this.emptied.set(path, { key, since })
    if (performance.now() - since < this.#quiet * EMPTY_PATIENCE) throw new Torn('it has been emptied')
  }

  async #copy(held: HeldDirectory, name: string, { key }: SourceFile, at: string): Promise<TargetFile> {
    const work = await this.#staging.work()
    const path = work.next()
    let digest: string
    try {
      digest = await copyFile(held, name, key, { path, shown: `${work.shown}/${at}` })
    } catch (error) {
      // What was written so far would take the room on a full tmpfs from the files that still fit. If even this fails, the
      // end of the pass clears it.
      await unlink(path).catch(() => {})
      throw error
    }
    const copy: TargetFile = { kind: 'file', key, digest }
    work.files.set(copy, path)
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
      this.skipped.push({ path, reason: `has not held still yet: ${error.message}` })
      return had
    }
  }

  /** Runs `make`, reports its failure and returns undefined then; passes on what concerns more than the entry. */
  async #attemptExactly<T>(path: string, make: () => Promise<T>): Promise<T | undefined> {
    try {
      return await make()
    } catch (error) {
      if (error instanceof Torn || losesSource(error)) throw error
      if (error instanceof InotifyError) this.failures.push(error)
      else this.skipped.push({ path, reason: reasonOf(error) })
      return undefined
    }
  }
}
