import { InotifyError } from '../../errors.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { checkVersion, mostOf, openVersion, readWhole } from '../../volume/read_file.ts'
import { Placed, type SourceFile, type TargetFile, type TargetNode } from '../plan/tree.ts'
import type { SourceHandle } from '../source/source_handle.ts'
import { copyAttributes, onTarget } from './safe_copy.ts'

/** The place where the passes over a source make entries ready. */
export class StagingArea {
  readonly held: DirectoryHandle
  /** The target's name in messages. */
  readonly shown: string
  readonly #all: ReadonlyMap<number, StagingArea>
  // The names in the work directory of files that are ready to be renamed into place.
  readonly #ready = new Map<TargetNode, string>()
  // The copy that is made while no other is, once there was no room for it.
  #alone: Promise<unknown> = Promise.resolve()
  #count = 0

  private constructor(held: DirectoryHandle, shown: string, all: ReadonlyMap<number, StagingArea>) {
    this.held = held
    this.shown = shown
    this.#all = all
  }

  /** @param all the areas of all sources, to find what another source has kept */
  static async open(
    staging: DirectoryHandle,
    name: string,
    shown: string,
    all: ReadonlyMap<number, StagingArea>,
  ): Promise<StagingArea> {
    // Left by a start of a pass that failed, for one.
    await removeTree(staging, name)
    await staging.calls.mkdir(staging.at(name), 0o700)
    return new StagingArea(await staging.directory(name), shown, all)
  }

  /** A name in the work directory that nothing has yet. */
  next(): string {
    return String(this.#count++)
  }

  /** Takes note of a file that is ready. */
  add(node: TargetNode, name: string): void {
    this.#ready.set(node, name)
  }

  /**
   * Copies a regular file of the source, with its owner and mode. Throws {@link Torn} if the file is not the version of its key before the read, nor
   * after it unless `isReadAgain`; an {@link InotifyError} if the copy cannot be written.
   *
   * @param at how people call the file, beneath the source
   * @param isReadAgain whether {@link digestFile} will tell if it was written to meanwhile. Times do not, of a server that shows others while a file is
   *   read (rclone, of what it has not uploaded yet).
   */
  async copy(
    from: SourceHandle,
    name: string,
    file: SourceFile,
    at: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const copyOnce = () => this.#copyOnce(from, name, file, `${this.shown}/${at}`, isReadAgain)
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
    from: SourceHandle,
    name: string,
    { key }: SourceFile,
    shown: string,
    isReadAgain: boolean,
  ): Promise<TargetFile> {
    const place = this.next()
    const { held } = this
    const write = async () => {
      await using source = await openVersion(from, name, key, mostOf(Number(key.size)))
      // Only the user of the mirror may read the copy until its owner and mode are those of the source.
      await using copy = await onTarget(shown, held.create(place, 0o600))
      let written: Promise<void> = Promise.resolve()
      const { digest, after } = await readWhole(source, Number(key.size), async (chunk) => {
        await written
        written = onTarget(shown, copy.calls.write(copy.fd, chunk))
        // Heard of below, unless the source has failed before.
        written.catch(() => {})
      })
      // The thread keeps the order.
      await Promise.all([written, copyAttributes(copy, shown, key)])
      if (!isReadAgain) checkVersion(after, key)
      return digest
    }
    try {
      const digest = await write()
      const placed = new Placed(await onTarget(shown, held.lstat(place)))
      const made: TargetFile = { kind: 'file', key, digest, placed }
      this.add(made, place)
      return made
    } catch (error) {
      // A part would take the room on a full tmpfs from files that still fit. If even this fails, the end of the pass
      // clears it.
      await held.calls.unlink(held.at(place)).catch(() => {})
      throw error
    }
  }

  /** Takes a file that is ready, brought from where another source's pass has made it, and returns its name here. */
  async take(node: TargetNode): Promise<string | undefined> {
    for (const area of this.#all.values()) {
      const made = area.#ready.get(node)
      if (made === undefined) continue
      // The name is for what displaces it: renamed over a directory, a file changes places with that.
      area.#ready.delete(node)
      if (area === this) return made
      const name = this.next()
      await this.held.calls.rename(area.held.at(made), this.held.at(name))
      return name
    }
    return undefined
  }

  /** Returns true if a file is ready here. */
  has(node: TargetNode): boolean {
    return this.#ready.has(node)
  }

  /** Removes all that is left in it and not wanted. */
  async clear(wanted: ReadonlySet<TargetNode>): Promise<void> {
    if (this.#count === 0) return
    const kept = new Set<string>()
    for (const [node, name] of this.#ready)
      if (wanted.has(node)) kept.add(name)
      else this.#ready.delete(node)
    let failed: unknown
    for (const name of await this.held.names()) {
      if (kept.has(name.toString())) continue
      // A neighbour's mount, in a directory of his that was in the way, must not keep the rest.
      await removeTree(this.held, name).catch((error) => {
        failed ??= error
      })
    }
    if (failed !== undefined) throw failed
    // A name that is kept must not be given again.
    if (kept.size === 0) this.#count = 0
  }
}
