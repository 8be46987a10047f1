import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { StatKey, StatProbe } from '../../mounts/syscalls/stat_watch.ts'
import type { SourceTree } from '../plan/tree.ts'
import type { Snapshot } from './snapshot.ts'
import type { Source } from './source.ts'
import type { SourceHandle } from './source_handle.ts'

/** Files up to so many are held, each looked at by one request to the server; of more it takes two requests each, by their names. */
const MOST_HELD = 64

/** Beyond these a pass looks at everything. */
const MOST_DIRECTORIES = 256
const MOST_FILES = 4096

/** The probes that show that nothing of a source has changed, held open until disposed of. */
export class StatProbes implements AsyncDisposable {
  readonly all: StatProbe[] = []
  readonly #held: AsyncDisposable[] = []
  #directories = 0

  private constructor() {}

  /**
   * Opens the probes for a pass's snapshot; undefined if there is too much of it, if the entries differ by now, or if the server may give directories
   * no new times.
   *
   * An AtomicWriter's directory itself is enough: the content behind `..data` is not changed but replaced.
   */
  static async place(source: Source, { tree, place, data }: Snapshot): Promise<StatProbes | undefined> {
    if (!source.timesDirectories) return undefined
    const probes = new StatProbes()
    try {
      const root = await source.open()
      probes.#held.push(root)
      // The directory's own key is of before the names in it were read: looked at from there, nothing is overlooked.
      if (root instanceof DirectoryHandle) {
        probes.#add(root.fd, tree)
        const suffices = data !== undefined && hasOnlyLinksBeside(data, tree)
        if (suffices || (await probes.#addEntries(root, tree))) return probes
      } else if (await probes.#addFile(source, root, tree, place)) {
        return probes
      }
    } catch {
      // The next pass shows what it was.
    }
    await probes[Symbol.asyncDispose]()
    return undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#held) await each[Symbol.asyncDispose]()
  }

  #add(fd: number, { key }: Pick<SourceTree, 'key'>, name = '', revalidate = false): void {
    this.all.push({ fd, name, revalidate, key })
  }

  async #addEntries(held: DirectoryHandle, { entries }: SourceTree): Promise<boolean> {
    if (++this.#directories > MOST_DIRECTORIES) return false
    for (const [name, node] of entries) {
      if (node.kind === 'directory') {
        const child = await held.directory(name)
        this.#held.push(child)
        this.#add(child.fd, node)
        if (!(await this.#addEntries(child, node))) return false
      } else if (node.kind === 'file') {
        if (this.all.length > MOST_FILES) return false
        await this.#addEntry(held, name, node)
      } else if (node.kind === 'unreadable') {
        return false
      }
    }
    return true
  }

  async #addEntry(held: DirectoryHandle, name: string, node: Pick<SourceTree, 'key'>): Promise<void> {
    if (this.all.length >= MOST_HELD || !held.revalidates)
      return this.#add(held.fd, node, name, held.revalidates)
    const file = await held.hold(name)
    this.#held.push(file)
    this.#add(file.fd, node)
  }

  /** Besides the file the directory of the path, where a link may come to lead elsewhere. */
  async #addFile(
    source: Source,
    root: SourceHandle,
    { entries }: SourceTree,
    place: StatKey,
  ): Promise<boolean> {
    const [[name, node] = ['', undefined]] = entries
    if (node?.kind !== 'file') return false
    const above = await source.above()
    this.#held.push(above)
    this.#add(above.fd, { key: place })
    const file = await root.hold(name)
    this.#held.push(file)
    this.#add(file.fd, node)
    return true
  }
}

function hasOnlyLinksBeside(data: string, { entries }: SourceTree): boolean {
  for (const [name, { kind }] of entries) if (name !== data && kind !== 'link') return false
  return true
}
