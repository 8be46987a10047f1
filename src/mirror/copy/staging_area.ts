import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import type { TargetNode } from '../plan/tree.ts'
import type { Placed } from '../target/inventory.ts'

/** An entry made in the work directory, ready to be renamed into place. */
export interface Built {
  /** Its name in the work directory. */
  readonly name: string
  readonly placed: Placed
}

/** The place where the passes over a source make entries ready. */
export class StagingArea {
  readonly held: DirectoryHandle
  /** The target's name in messages. */
  readonly shown: string
  readonly #all: ReadonlyMap<number, StagingArea>
  readonly #ready = new Map<TargetNode, Promise<Built>>()
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

  /** Takes note of what is ready, or will be: a file, or a directory with all in it. */
  add(node: TargetNode, made: Promise<Built>): void {
    made.catch(() => {})
    this.#ready.set(node, made)
  }

  /** Takes what is ready, brought from where another source's pass has made it. */
  async take(node: TargetNode): Promise<Built | undefined> {
    for (const area of this.#all.values()) {
      const made = area.#ready.get(node)
      if (made === undefined) continue
      // The name is for what displaces it: renamed over a directory, a file changes places with that.
      area.#ready.delete(node)
      const built = await made
      if (area === this) return built
      const name = this.next()
      await this.held.calls.rename(area.held.at(built.name), this.held.at(name))
      return { ...built, name }
    }
    return undefined
  }

  /** Returns true if something is ready here or about to be. */
  has(node: TargetNode): boolean {
    return this.#ready.has(node)
  }

  /** Removes all that is left in it and not wanted. */
  async clear(wanted: ReadonlySet<TargetNode>): Promise<void> {
    if (this.#count === 0) return
    const kept = new Set<string>()
    for (const [node, made] of this.#ready) {
      const built = await made.catch(() => undefined)
      if (built !== undefined && wanted.has(node)) kept.add(built.name)
      else this.#ready.delete(node)
    }
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
