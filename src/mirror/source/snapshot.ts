import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { keyOf, pathOf, textOf } from '../../name_key.ts'
import {
  type DataLink,
  followData,
  hasData,
  statData,
  tornSince,
  wasRemoved,
} from '../../volume/data_link.ts'
import { DATA, isReserved, linkText } from '../../volume/layout.ts'
import { type Skipped, type SourceNode, type SourceTree, statKey } from '../plan/tree.ts'
import { STAGING_NAME } from '../staging/own.ts'
import { codeOf, LinksOutside, losesSource, reasonOf, SourceLost } from './errors.ts'
import { judgeLink } from './links.ts'
import type { SourceHandle } from './source_handle.ts'

/** Every level holds a descriptor while what is below it is read. */
export const MAX_DEPTH = 32

/** Directories and symlinks are not counted by `limits.files`; this bounds what a source made of them alone may cost. */
export const MAX_ENTRIES = 65_536

/** Entries of a source that are named as skipped, at a pass: whoever may write it could have any number of lines written. */
export const MOST_SKIPPED = 100

/** Names that are looked at at once. */
const AT_ONCE = 64

/**
 * A name that leads to an inode without links leads to what was deleted or replaced behind the mount. Overlay does that with
 * what it has once looked up, when its upper or a lower directory is changed directly: it shows rewriting in place
 * and names it was never asked for, but what was replaced by rename(2) (`..data` too) never, as no one but who mounted it
 * can make it look again (`mount -o remount`). Looking up with O_EXCL, opening its directory anew and bind mounts do not.
 */
const STALE = 'deleted or replaced behind the mount: what was there is still shown'

/** The mirror's rules for a scan. */
export interface ScanRules {
  readonly limits: { readonly files: number; readonly bytes: number }
  /** Absolute paths by which the source is known. */
  readonly sources: readonly string[]
  /** The target's directory: a bind mount may show it inside the source. */
  readonly target: { readonly dev: bigint; readonly ino: bigint }
  /** Told how many entries have been looked at. */
  readonly looked: ((entries: number) => void) | undefined
}

/** The source at one moment, or nearly: names and stat keys, no content. Names and what links say are keys: see name_key.ts. */
export interface Snapshot {
  readonly tree: SourceTree
  /** The key of the directory whose names lead there: the source, or that of a single file's path. */
  readonly place: StatKey
  /** The entry beside `..data` that it leads to, if the source has the layout of the kubelet's AtomicWriter; there may be none of that name. */
  readonly data: string | undefined
  /** The directory of that name; a reason if there is none. */
  readonly generation: SourceTree | string
  /** The reason why the source is over the limits. */
  readonly over: string | undefined
  /** True: the source is so large that the tree is not complete. */
  readonly endless: boolean
  /** The entries that are never mirrored: the first {@link MOST_SKIPPED}. */
  readonly skipped: readonly Skipped[]
  /** The number of further skipped entries. */
  readonly unnamed: number
}

/** A directory of the source while it is read. `path` is relative to the source. */
interface Reading {
  readonly held: SourceHandle
  readonly path: string
  readonly depth: number
}

/** Reads a source. Holds the directory behind `..data` until disposed of, so that copies come from the very directory that was read. */
export class Scan implements AsyncDisposable {
  readonly #root: SourceHandle
  readonly #rules: ScanRules
  readonly #skipped: Skipped[] = []
  #looked: FileStat | undefined
  #dataLink: DataLink = { data: undefined, way: [], held: undefined }
  #listing: Promise<Buffer[] | undefined> = Promise.resolve(undefined)
  #endless = false
  #files = 0
  #bytes = 0n
  #entries = 0
  #unnamed = 0
  // The number of names that may still be listed. Upper directories stay held while lower ones are read.
  #room = MAX_ENTRIES + 1

  constructor(root: SourceHandle, rules: ScanRules) {
    this.#root = root
    this.#rules = rules
  }

  /** The directory behind `..data`, where there is one and it could be opened. */
  get generation(): DirectoryHandle | undefined {
    return this.#dataLink.held
  }

  /**
   * Reads the whole source, once. Errors of single entries are part of the result; thrown errors speak for the source.
   *
   * @param hadData true: there was a `..data` the last time, which is then asked for without waiting for the names
   */
  async read(hadData: boolean): Promise<Snapshot> {
    const root = this.#root
    const [names, early] = await Promise.all([this.#names(root), hadData ? statData(root) : undefined])
    if (hasData(names)) this.#looked = hadData ? early : await statData(root)
    // Before anything else is looked at. Why it failed, if it does, is found out in its turn.
    this.#dataLink = await followData(root, this.#looked)
    const { data, held } = this.#dataLink
    this.#listing = (held && this.#names(held).catch(() => undefined)) ?? this.#listing
    const tree = await this.#read({ held: root, path: '', depth: 0 }, names)
    // The last that was read may have been one too many.
    this.#hasRoom()
    const found = { over: this.#over, endless: this.#endless, skipped: this.#skipped, unnamed: this.#unnamed }
    const place = root.place ?? root.opened
    return { tree, place, data, generation: generationIn(tree, data), ...found }
  }

  /**
   * Makes sure, after all has been read, that it was one version: a swap of `..data` meanwhile throws {@link Torn}. So does a
   * directory made anew under the same name.
   */
  async verify({ tree, generation }: Snapshot): Promise<void> {
    const read = typeof generation === 'string' ? undefined : generation.key
    const [stat, torn] = await Promise.all([
      this.#root.stat(),
      tornSince(this.#root, this.#dataLink, read, MAX_ENTRIES),
    ])
    if (wasRemoved(tree.key, stat)) throw new SourceLost('it was removed while it was read')
    if (torn !== undefined) throw torn
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dataLink.held?.close()
  }

  async #read(directory: Reading, names: Buffer[]): Promise<SourceTree> {
    const entries = new Map<string, SourceNode>()
    const tree: SourceTree = { kind: 'directory', key: statKey(directory.held.opened), entries }
    names.sort(Buffer.compare)
    for (let first = 0; first < names.length; first += AT_ONCE) {
      const keys = names.slice(first, first + AT_ONCE).map(keyOf)
      const some = directory.path === '' ? keys.filter((name) => !this.#isInternal(name)) : keys
      // All asked for before the first is answered: a turn to the thread and back takes longer than most answers.
      const looks = await Promise.allSettled(some.map((name) => this.#look(directory, name)))
      for (const [index, name] of some.entries()) {
        if (!this.#hasRoom()) return tree
        const node = await this.#entry(directory, name, looks[index] as PromiseSettledResult<FileStat>)
        if (node !== undefined) entries.set(name, node)
      }
      this.#rules.looked?.(this.#entries)
    }
    return tree
  }

  async #look({ held, path }: Reading, name: string): Promise<FileStat> {
    const stat = (path === '' ? this.#lookedAt(name) : undefined) ?? (await held.lstat(name))
    // Again: it may also have gone between being looked up and being looked at.
    return wasRemoved(held.opened, stat) ? await held.lstat(name) : stat
  }

  #lookedAt(name: string): FileStat | undefined {
    if (name === this.#dataLink.data) return this.#dataLink.held?.opened
    return name === DATA ? this.#looked : undefined
  }

  async #names(held: SourceHandle): Promise<Buffer[]> {
    const names = await held.names(this.#room)
    this.#room -= names.length
    return names
  }

  /** Even a link for each of a million names would be the end of the target. */
  #hasRoom(): boolean {
    this.#endless ||= this.#room <= 0 || this.#entries > MAX_ENTRIES
    return !this.#endless
  }

  get #over(): string | undefined {
    const { files, bytes } = this.#rules.limits
    const found = []
    if (this.#endless) found.push(`more than ${MAX_ENTRIES} entries`)
    else if (this.#files > files) found.push(`${this.#files} files, at most ${files}`)
    if (this.#bytes > bytes) found.push(`${this.#bytes} bytes, at most ${bytes}`)
    return found.length === 0 ? undefined : found.join(' and ')
  }

  /**
   * Names that are not content: another mirror's staging directory; and, beside a `..data`, whatever else begins with two
   * dots. Those are the AtomicWriter's own (keys may not begin so): timestamped directories on their way in or out.
   */
  #isInternal(name: string): boolean {
    if (STAGING_NAME.test(name)) return true
    const { data } = this.#dataLink
    return data !== undefined && isReserved(name) && name !== DATA && name !== data
  }

  async #entry(
    directory: Reading,
    name: string,
    looked: PromiseSettledResult<FileStat>,
  ): Promise<SourceNode | undefined> {
    const at = directory.path === '' ? name : `${directory.path}/${name}`
    try {
      if (looked.status === 'rejected') throw looked.reason
      const stat = looked.value
      if (wasRemoved(directory.held.opened, stat)) return { kind: 'unreadable', reason: STALE }
      this.#count(at, stat)
      if (stat.isFile()) return { kind: 'file', key: statKey(stat) }
      // Not the texts on the way of `..data`, which may lead to names that the target does not have: generations are named anew there.
      const { data, way } = this.#dataLink
      if (data !== undefined && at !== data && (at === DATA || way.includes(at)))
        return { kind: 'link', to: at === DATA ? data : DATA }
      if (stat.isSymbolicLink()) return this.#link(at, stat.link)
      if (stat.isDirectory()) return await this.#subdirectory(directory, name, at, stat)
      return this.#skip(at, `a ${typeName(stat)}, not a file, directory or symlink`)
    } catch (error) {
      if (losesSource(error)) throw error
      // It went between the listing and now, which a later listing would have shown as well.
      if (codeOf(error) === 'ENOENT') return undefined
      return { kind: 'unreadable', reason: reasonOf(error), linksOutside: error instanceof LinksOutside }
    }
  }

  #count(at: string, stat: FileStat): void {
    this.#entries++
    if (stat.isFile()) {
      this.#files++
      this.#bytes += stat.size
    } else if (!this.#isOfLayout(at, stat.link)) {
      this.#bytes += BigInt(Buffer.byteLength(pathOf(stat.link)))
    }
  }

  /** Returns true for a link that the AtomicWriter makes itself: a ConfigMap is as large as its keys are. */
  #isOfLayout(at: string, to: string): boolean {
    return this.#dataLink.data !== undefined && (at === DATA || to === linkText(at))
  }

  #link(at: string, to: string): SourceNode | undefined {
    const verdict = judgeLink(at, to, this.#rules.sources)
    return 'to' in verdict ? { kind: 'link', to: verdict.to } : this.#skip(at, verdict.reason)
  }

  async #subdirectory(
    { held, depth }: Reading,
    name: string,
    at: string,
    { dev, ino }: FileStat,
  ): Promise<SourceNode | undefined> {
    const { target } = this.#rules
    if (dev === target.dev && ino === target.ino) return this.#skip(at, 'it is the target itself')
    if (depth === MAX_DEPTH) return this.#skip(at, `more than ${MAX_DEPTH} directories deep`)
    const below = { path: at, depth: depth + 1 }
    // verify() sees to its being the same.
    const generation = at === this.#dataLink.data ? this.#dataLink.held : undefined
    if (generation !== undefined) {
      const names = (await this.#listing) ?? (await this.#names(generation))
      return await this.#read({ ...below, held: generation }, names)
    }
    await using child = await held.directory(name)
    const tree = await this.#read({ ...below, held: child }, await this.#names(child))
    // Another may have taken its name, and this one be half removed: what it lacks is not gone.
    if ((await held.lstat(name)).ino !== tree.key.ino)
      return { kind: 'unreadable', reason: 'it was replaced while it was read' }
    return tree
  }

  #skip(path: string, reason: string): undefined {
    if (this.#skipped.length >= MOST_SKIPPED) {
      this.#unnamed++
      return
    }
    // As readers know the path, and the same in each version.
    const { data } = this.#dataLink
    const isKey = data !== undefined && path.startsWith(`${data}/`)
    this.#skipped.push({ path: isKey ? DATA + path.slice(data.length) : path, reason })
  }
}

function generationIn({ entries }: SourceTree, data: string | undefined): SourceTree | string {
  const generation = entries.get(data ?? '')
  for (const node of [entries.get(DATA), generation]) if (node?.kind === 'unreadable') return node.reason
  if (generation?.kind === 'directory') return generation
  return `leads to ${textOf(data ?? '')}, which is ${generation === undefined ? 'not there' : 'no directory'}`
}

function typeName(stat: FileStat): string {
  if (stat.isFIFO()) return 'FIFO'
  return stat.isSocket() ? 'socket' : 'device'
}
