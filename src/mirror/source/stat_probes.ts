import type { StatKey, StatProbe } from '../../mounts/syscalls/stat_watch.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
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
   * An AtomicWriter's directory itself is enough: the content behind `..data` is not changed but replaced. Besides a single file the directory
   * of its path is one, where a link may come to lead elsewhere.
   */
  static async place(source: Source, { tree, place, data }: Snapshot): Promise<StatProbes | undefined> {
    if (!source.timesDirectories) return undefined
    const probes = new StatProbes()
    try {
      const root = await source.open()
      probes.#held.push(root)
      // The directory's own key is of before the names in it were read: looked at from there, nothing is overlooked.
      probes.#add(root.at(), place)
      const beside = [...tree.entries].filter(([name]) => name !== data)
      const suffices = data !== undefined && beside.every(([, { kind }]) => kind === 'link')
      if (suffices || (await probes.#addEntries(root, tree))) return probes
    } catch {
      // The next pass shows what it was.
    }
    await probes[Symbol.asyncDispose]()
    return undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#held) await each[Symbol.asyncDispose]()
  }

  #add({ fd, name, revalidate = false }: At, key: StatKey): void {
    this.all.push({ fd, name: String(name), revalidate: name !== '' && revalidate, key })
  }

  async #addEntries(held: SourceHandle, { entries }: SourceTree): Promise<boolean> {
    if (++this.#directories > MOST_DIRECTORIES) return false
    for (const [name, node] of entries) {
      if (node.kind === 'directory') {
        const child = await held.directory(name)
        this.#held.push(child)
        this.#add(child.at(), node.key)
        if (!(await this.#addEntries(child, node))) return false
      } else if (node.kind === 'file') {
        if (this.all.length > MOST_FILES) return false
        await this.#addEntry(held, name, node.key)
      } else if (node.kind === 'unreadable') {
        return false
      }
    }
    return true
  }

  async #addEntry(held: SourceHandle, name: string, key: StatKey): Promise<void> {
    if (this.all.length >= MOST_HELD || !held.revalidates) return this.#add(held.at(name), key)
    const file = await held.hold(name)
    this.#held.push(file)
    this.#add({ fd: file.fd, name: '' }, key)
  }
}
