import type { StatKey, StatProbe } from '../../mounts/syscalls/stat_watch.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { sameKey, Torn } from '../../volume/read_file.ts'
import type { SourceTree } from '../plan/tree.ts'
import type { Snapshot } from './snapshot.ts'
import type { Source } from './source.ts'
import type { SourceHandle } from './source_handle.ts'

/**
 * ms between two reads that are to show whether a file is still being written, at least. A kernel's clock for ctimes ticks every 1 to 10 ms: of two writes within a tick
 * the second may change nothing but the content.
 */
export const TWO_TICKS = 10

/**
 * ms within which a change may leave a stat key as it was. A file system that keeps times by the second (ext4 with inodes of 128 bytes, sshfs) does
 * not say so: its ticks may be vfat's, of two seconds. The rest is for a tick that comes late.
 */
const COARSE_TICK = 2100
const SECOND = 1_000_000_000n

/**
 * A file that has become empty must hold still for so many times `quiet`. A writer that rewrites a file in place truncates it first, and ext4 was seen
 * to hold the writer up for 0.2 s, on a busy disk for 3 s, between that and the first byte.
 */
const EMPTY_PATIENCE = 50

/** Files up to so many are held, each looked at by one request to the server; of more it takes two requests each, by their names. */
const MOST_HELD = 64

/** Beyond these a pass looks at everything. */
const MOST_DIRECTORIES = 256
const MOST_FILES = 4096

/** The time for which a flat file must hold still (ms), and what ends the wait for it: it is no promise to anybody then. */
export interface Stillness {
  readonly quiet: number
  readonly signal: AbortSignal
}

/** A stat key of a path. */
interface Seen {
  readonly key: StatKey
  /** performance.now() at which the key was seen first: this process's clock counts, since a server's may be wrong. */
  readonly since: number
  /** ms from `since` within which another change may not show in the key; undefined for a file that is read twice, so far apart. */
  readonly tick: number | undefined
  /** True: the content under the key was read when no other could come under it any more. */
  isSure: boolean
}

/** Knows since when each path of a source has been as it is; '' is the source itself. */
export class Rest {
  readonly #seen = new Map<string, Seen>()

  /** Returns the same after another scan. */
  after({ place, tree, data }: Pick<Snapshot, 'place' | 'tree' | 'data'>): Rest {
    const next = new Rest()
    const since = performance.now()
    const see = (path: string, key: StatKey, isFlatFile: boolean) => {
      const had = this.#seen.get(path)
      const tick = isFlatFile && tickOf(key) === TWO_TICKS ? undefined : tickOf(key)
      const isSame = had !== undefined && sameKey(had.key, key)
      next.#seen.set(path, isSame ? had : { key, since, tick, isSure: false })
    }
    const descend = ({ entries }: SourceTree, above: string, isFlat: boolean) => {
      for (const [name, node] of entries) {
        const path = above + name
        const isBelowFlat = isFlat && path !== data
        if (node.kind === 'file') see(path, node.key, isBelowFlat)
        if (node.kind !== 'directory') continue
        see(path, node.key, false)
        descend(node, `${path}/`, isBelowFlat)
      }
    }
    see('', place, false)
    descend(tree, '', true)
    return next
  }

  /** Returns true if another change of the path may not show in its key: it is to be read again, though the key is the same. */
  isUnsure(path: string): boolean {
    return this.#seen.get(path)?.isSure !== true
  }

  /** Returns true if that goes for a directory, or for anything below it. */
  isUnsureIn(path: string): boolean {
    for (const [each, { isSure }] of this.#seen)
      if (!isSure && (path === '' || `${each}/`.startsWith(`${path}/`))) return true
    return false
  }

  /** Throws {@link Torn} while a file that has become empty may still be about to be written. */
  expectMore(path: string, quiet: number): void {
    const since = this.#seen.get(path)?.since ?? performance.now()
    if (performance.now() - since < quiet * EMPTY_PATIENCE) throw new Torn('it has been emptied')
  }

  /**
   * Notes that a pass has read all of it.
   *
   * @param began performance.now() before the pass
   * @param isUnread true: the entry could not be read, and stays in doubt
   */
  read(began: number, isUnread: (path: string) => boolean): void {
    for (const [path, seen] of this.#seen) {
      const isOver = seen.tick === undefined || began - seen.since >= seen.tick
      if (isOver && !isUnread(path)) seen.isSure = true
    }
  }
}

function tickOf({ mtimeNs, ctimeNs }: StatKey): number {
  return mtimeNs % SECOND === 0n && ctimeNs % SECOND === 0n ? COARSE_TICK : TWO_TICKS
}

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
