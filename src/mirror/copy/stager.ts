import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import { atOnce, leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import { sameKey } from '../../volume/read_file.ts'
import { Placed } from '../plan/placed.ts'
import type { SourceFile, SourceNode, SourceTree, TargetFile, TargetNode, TargetTree } from '../plan/tree.ts'
import { codeOf, losesSource, reasonOf, Torn } from '../source/errors.ts'
import { type Rest, type Stillness, TWO_TICKS } from '../source/rest.ts'
import { beneath, type SourceHandle } from '../source/source_handle.ts'
import { copyFile, digestFile, onTarget } from './safe_copy.ts'
import type { Before, Missing, Staged } from './staged.ts'
import type { StagingArea } from './staging_area.ts'

/** The target's entries of a directory, and those that this source has added. */
interface Had {
  readonly target: TargetTree | undefined
  readonly own: ReadonlyMap<string, TargetNode> | undefined
}

/** A flat file that has been copied and must still prove that nobody is writing to it. */
interface Unsettled {
  readonly directory: string
  readonly name: string
  readonly siblings: Map<string, TargetNode>
  readonly copy: TargetFile
  readonly before: TargetNode | undefined
}

/** Copies what differs of a source's directories, entry by entry, and notes down what cannot be had. */
export class Stager {
  readonly #missing: Missing[] = []
  readonly #failures: InotifyError[] = []
  readonly #wanting = new Set<string>()
  readonly #work: StagingArea
  readonly #stillness: Stillness
  readonly #rest: Rest
  #unsettled: Unsettled[] = []
  // The copy that is made while no other is, once there was no room for it.
  #alone: Promise<unknown> = Promise.resolve()

  constructor(work: StagingArea, stillness: Stillness, { rest }: Before) {
    this.#work = work
    this.#rest = rest
    this.#stillness = stillness
  }

  /** Returns the entries found wanting so far. */
  get found(): Pick<Staged, 'missing' | 'wanting' | 'failures' | 'isHeld'> {
    return { missing: this.#missing, wanting: this.#wanting, failures: this.#failures, isHeld: false }
  }

  skip(path: string, reason: string, isPassing = false): undefined {
    this.#missing.push({ path, reason, isPassing })
  }

  /** Returns a directory as the target shall have it. Its new files are copied, but must be settled. */
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
        const above = directory.split('/').slice(0, -1)
        const digest = await beneath(root, above, (held) => digestFile(held, name, copy.key))
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
        if (node.kind === 'file') return this.#copy(held, name, node, at, false)
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
    // An entry that another source has put there goes when that source drops it.
    const isOwn = had?.kind === 'file' && had === own
    const isKnown = isOwn && sameKey(had.key, node.key)
    if (isKnown && !this.#rest.isUnsure(path + name)) return had
    if (had?.kind === 'file' && had.key.size > 0n && node.key.size === 0n)
      this.#rest.expectMore(path + name, this.#stillness.quiet)
    const isSame =
      isOwn && had.key.size === node.key.size && (await digestFile(held, name, node.key)) === had.digest
    if (isSame && isKnown) return had
    const copy = isSame
      ? { ...node, digest: had.digest }
      : await this.#copy(held, name, node, `${path}${name}`, true)
    this.#unsettled.push({ directory: path, name, siblings, copy, before: had })
    return copy
  }

  /**
   * Copies a file into the staging area.
   *
   * @param at how people call the file, beneath the source
   * @param isReadAgain see {@link copyFile}
   */
  async #copy(
    held: SourceHandle,
    name: string,
    file: SourceFile,
    at: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const copyOnce = () => this.#copyOnce(held, name, file, at, isReadAgain)
    try {
      return await copyOnce()
    } catch (error) {
      if (!(error instanceof InotifyError && ['ENOSPC', 'EDQUOT'].includes(error.code))) throw error
    }
    // Parallel copies may have taken the room without fitting themselves: one after another, all that fit do.
    const alone = this.#alone.then(copyOnce)
    this.#alone = alone.catch(() => {})
    return await alone
  }

  async #copyOnce(
    held: SourceHandle,
    name: string,
    { key }: SourceFile,
    at: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const { held: directory, shown: target } = this.#work
    const [place, shown] = [this.#work.next(), `${target}/${at}`]
    try {
      const digest = await copyFile(held, name, key, { directory, name: place, shown }, isReadAgain)
      const placed = new Placed(await onTarget(shown, directory.lstat(place)))
      const copy: TargetFile = { kind: 'file', key, digest, placed }
      this.#work.add(copy, place)
      return copy
    } catch (error) {
      // A part would take the room on a full tmpfs from files that still fit. If even this fails, the end of the pass
      // clears it.
      await directory.calls.unlink(directory.at(place)).catch(() => {})
      throw error
    }
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
      this.skip(path, `has not held still yet: ${error.message}`, true)
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
      else this.skip(path, reasonOf(error), codeOf(error) === 'ENOENT')
      return undefined
    }
  }
}

/** Sorts entries by name, whichever was ready first: a watcher of the target hears of them in this order. */
function sortAs(order: ReadonlyMap<string, unknown>, entries: Map<string, TargetNode>): void {
  const found = new Map(entries)
  entries.clear()
  for (const name of order.keys()) {
    const node = found.get(name)
    if (node !== undefined) entries.set(name, node)
  }
}
