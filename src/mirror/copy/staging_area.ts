import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import type { TargetNode } from '../plan/tree.ts'

/** The place where the passes over a source make entries ready. */
export class StagingArea {
  readonly held: DirectoryHandle
  /** The target's name in messages. */
  readonly shown: string
  readonly #all: ReadonlyMap<number, StagingArea>
  // The names in the work directory of files that are ready to be renamed into place.
  readonly #ready = new Map<TargetNode, string>()
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
