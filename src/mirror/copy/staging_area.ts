import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import type { TargetFile, TargetNode, TargetTree } from '../plan/tree.ts'

/** An entry made in the work directory, ready to be renamed into place. */
export interface Built {
  /** Its name in the work directory. */
  readonly name: string
  /** The inodes of the entry and of all beneath it, by path. */
  readonly inodes: ReadonlyMap<string, FileStat>
}

/** The files that a pass has staged. */
export class StagingArea {
  readonly held: DirectoryHandle
  /** The target's name in messages. */
  readonly shown: string
  /** Names of files that are ready to be published, by the entries they are the content of. */
  readonly files = new Map<TargetFile, string>()
  readonly #all: ReadonlyMap<number, Promise<StagingArea>>
  readonly #ahead = new Map<TargetTree, Promise<Built>>()
  #kept: ReadonlySet<string> = new Set()
  #count = 0

  private constructor(held: DirectoryHandle, shown: string, all: ReadonlyMap<number, Promise<StagingArea>>) {
    this.held = held
    this.shown = shown
    this.#all = all
  }

  /** @param all the areas of all sources, to find files that another source has kept */
  static async open(
    staging: DirectoryHandle,
    name: string,
    shown: string,
    all: ReadonlyMap<number, Promise<StagingArea>>,
  ): Promise<StagingArea> {
    // A pass that could not clear up behind itself leaves it.
    await removeTree(staging, name)
    await staging.calls.mkdir(staging.at(name), 0o700)
    return new StagingArea(await staging.directory(name), shown, all)
  }

  /** A name in the work directory that nothing has yet. */
  next(): string {
    return String(this.#count++)
  }

  /** Takes a file that is ready to be published: its name here, brought from where another source's pass has made it. */
  async take(file: TargetFile): Promise<string | undefined> {
    const here = this.files.get(file)
    // The name is for what displaces it: renamed over a directory, a file changes places with that.
    this.files.delete(file)
    if (here !== undefined) return here
    for (const other of this.#all.values()) {
      const work = await other.catch(() => undefined)
      const there = work?.files.get(file)
      if (work === undefined || there === undefined) continue
      const name = this.next()
      work.files.delete(file)
      await this.held.calls.rename(work.held.at(there), this.held.at(name))
      return name
    }
    return undefined
  }

  /** Returns true if a file, or a directory with all in it, is ready here or about to be. */
  has(node: TargetNode): boolean {
    return (
      (node.kind === 'file' && this.files.has(node)) || (node.kind === 'directory' && this.#ahead.has(node))
    )
  }

  /** Takes note of a tree that is being made before its publication is certain; paths are relative to the tree. */
  begin(tree: TargetTree, making: Promise<Built>): void {
    making.catch(() => {})
    this.#ahead.set(tree, making)
  }

  begun(tree: TargetTree): Promise<Built> | undefined {
    return this.#ahead.get(tree)
  }

  keep(): void {
    this.#kept = new Set([...this.files.values()].filter((name) => !this.#kept.has(name)))
  }

  release(): void {
    this.#kept = new Set()
  }

  /** Removes all that is left in it and not kept. */
  async clear(): Promise<void> {
    // Another source's pass may meanwhile release files that this one has kept: they go with the next.
    const kept = this.#kept
    await Promise.allSettled(this.#ahead.values())
    this.#ahead.clear()
    if (this.#count === 0) return
    for (const [file, name] of this.files) if (!kept.has(name)) this.files.delete(file)
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
