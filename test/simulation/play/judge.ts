import type { Change, Entry, Kind } from '../../../src/index.ts'
import type { FileTree } from '../kernel/file_tree.ts'
import { Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import { MOST_LINKS, NESTED, ROOT, type Settings, SIBLING } from './scenario.ts'

/** The consumer's knowledge of one path. */
interface Known {
  kind: Kind
  /**
   * The file at the path, or the file that the link leads to, at the last comparison. Undefined: there was
   * none, or a change has been told since.
   */
  file: Inode | undefined
  /** The number of writes to all files when a new content was last told of this path. */
  seen: number
}

type Names = Map<string, Known>

const isWithin = (path: string, above: string) => path === above || path.startsWith(`${above}/`)

/**
 * A consumer that knows only the changes. The judge applies each change alone to a plain map that refuses
 * changes that do not fit, and compares the map with the tree. Differences without a change are kept until
 * {@link judge}.
 */
export class Judge {
  readonly #tree: FileTree
  readonly #follow: boolean
  readonly #ignoredLater: string
  #ignored: string
  readonly #depth: number
  readonly #isExpanded: boolean
  #hasNestedRoot: boolean
  readonly #nesting: Settings['nesting']
  readonly #hasSibling: boolean
  readonly #isLookedAtAmid: boolean
  readonly #rootStays: boolean
  readonly #entries: (() => Iterable<Entry>) | undefined
  #names: Names = new Map()
  // The roots with an overflow and no `recovered` yet.
  readonly #overflown = new Set<string>()
  #isLost = false
  #isNestedLost = false
  #misfits: string[] = []

  /**
   * @param rootStays no operation moves or removes the root
   * @param entries the watcher's entries(), which must equal the told changes
   */
  constructor(
    tree: FileTree,
    {
      followSymlinks,
      ignored,
      ignoredLater,
      depth,
      expand,
      nesting,
      sibling,
      start,
    }: Pick<
      Settings,
      'followSymlinks' | 'ignored' | 'ignoredLater' | 'depth' | 'expand' | 'nesting' | 'sibling' | 'start'
    >,
    rootStays = false,
    entries?: () => Iterable<Entry>,
  ) {
    this.#entries = entries
    this.#rootStays = rootStays
    this.#tree = tree
    this.#follow = followSymlinks
    this.#ignored = ignored
    this.#ignoredLater = ignoredLater
    this.#depth = depth
    this.#isExpanded = expand
    this.#hasNestedRoot = nesting !== ''
    this.#nesting = nesting
    this.#hasSibling = sibling
    // With nested roots, the entries that the watcher tells depend on which roots stand; before ready there
    // are no entries.
    this.#isLookedAtAmid = nesting === '' && start !== 'now'
    // The consumer knows all that is there at the start.
    if (start !== 'amid') this.#learn()
    // The watcher tells the entries outside the inner root when the outer root is added.
    if (nesting === 'outer added') this.#forget((path) => !path.startsWith(`${NESTED}/`))
  }

  apply(changes: Iterable<Change>): void {
    for (const change of changes) this.#apply(change)
  }

  /** Compares entries() with the changes told so far. Both must agree at every moment. */
  amid(): string[] {
    if (!this.#isLookedAtAmid || this.#entries === undefined || this.#isLost || this.#isNestedLost) return []
    const shown = new Set([...this.#entries()].map(({ path }) => path))
    for (const root of [ROOT, SIBLING]) shown.delete(root)
    const behind = [...this.#names.keys()].filter((path) => !shown.delete(path))
    return [
      ...[...shown].map((path) => `entries() shows ${path}: not told`),
      ...behind.map((path) => `entries() does not show ${path}: told`),
    ]
  }

  /** Returns the faults in a few lines, or an empty array. */
  judge(): string[] {
    const wrong = this.#misfits
    this.#misfits = []
    // A root that was removed meanwhile tells nothing more.
    if (this.#nesting === 'inner removed') {
      this.#overflown.delete(NESTED)
      this.#hasNestedRoot = false
    }
    if (this.#nesting === 'outer removed') this.#overflown.delete(ROOT)
    if (this.#ignoredLater !== '') this.#ignored = this.#ignoredLater
    for (const path of this.#overflown) wrong.push(`an overflow of ${path} is told, and not that it is over`)
    const there = this.#visible()
    const nested = there && this.#at(NESTED)
    const isNestedLost = nested?.isDirectory !== true
    if (!['', 'inner removed'].includes(this.#nesting) && this.#isNestedLost !== isNestedLost)
      wrong.push(
        isNestedLost ? 'the inner root is lost: not told' : 'lost is told of an inner root that is there',
      )
    if (this.#nesting === 'outer removed') {
      if (isNestedLost || this.#isNestedLost || there === undefined) return wrong
      const isOutside = (path: string) => !path.startsWith(`${NESTED}/`)
      this.#forget(isOutside)
      for (const path of there.keys()) if (isOutside(path)) there.delete(path)
      // The watcher does not emit `lost` for a root that is missing when the root is added.
    } else if (this.#isLost !== (there === undefined) && this.#nesting !== 'outer added')
      wrong.push(this.#isLost ? 'lost is told of a root that is there' : 'the root is lost: not told')
    if (there === undefined || (this.#isLost && this.#nesting !== 'outer removed')) return wrong
    for (const [path, inode] of there) wrong.push(...this.#compare(path, inode))
    for (const path of this.#names.keys()) if (!there.has(path)) wrong.push(`${path} is gone: not told`)
    if (this.#entries !== undefined) wrong.push(...compareEntries(this.#entries(), there))
    this.#learn()
    return wrong
  }

  #compare(path: string, { kind, file }: Seen): string[] {
    const known = this.#names.get(path)
    if (known === undefined) return [`${kind} ${path} is there: not told`]
    if (known.kind !== kind) return [`${path} is a ${kind}: told as ${known.kind}`]
    if (known.file !== undefined && known.file !== file) return [`${path} is another file: not told`]
    const isWritten = file !== undefined && file.version > known.seen && !file.isSlowlyWritten
    return isWritten ? [`${path} was written: not told since`] : []
  }

  #apply(change: Change): void {
    const { path } = change
    const seen = this.#tree.writes
    switch (change.type) {
      case 'create':
        if (this.#names.has(path)) this.#refuse(change, 'is there')
        // The inner root itself was told before the outer root was added.
        if (path !== NESTED || this.#nesting !== 'outer added') this.#take(path)
        this.#names.set(path, { kind: change.kind, file: undefined, seen })
        this.#expectParent(path, change)
        return
      case 'delete':
        this.#learnKind(path, change.kind, change)
        this.#take(path)
        return
      case 'modify':
      case 'attrib': {
        const known = this.#learnKind(path, change.kind, change)
        if (known !== undefined && change.type === 'modify')
          this.#names.set(path, { ...known, file: undefined, seen })
        return
      }
      case 'rename':
        this.#rename(change)
        return
      case 'exchange':
        this.#exchange(change)
        return
      case 'overflow':
        this.#overflown.add(path)
        return
      case 'recovered':
        if (!this.#overflown.delete(path)) this.#refuse(change, 'had no overflow')
        return
      case 'lost':
      case 'restored':
        // An overflow ends with the root that it is of.
        this.#overflown.delete(path)
        // The inner root may be missing where the outer root is present.
        if (this.#rootStays && (this.#hasSibling || path === ROOT)) this.#refuse(change, 'never went')
        else if (path === ROOT) this.#isLost = change.type === 'lost'
        else this.#isNestedLost = change.type === 'lost'
        return
    }
  }

  #rename(change: Extract<Change, { type: 'rename' }>): void {
    const { from, path, replaced, kind } = change
    if (isWithin(path, from) || isWithin(from, path)) {
      this.#refuse(change, 'would lie in itself')
      return
    }
    const moved = this.#take(from)
    const displaced = this.#take(path)
    if (replaced && displaced.size === 0) this.#refuse(change, 'replaces nothing')
    if (!replaced && displaced.size > 0) this.#refuse(change, 'has a name that is taken')
    this.#put(path, moved)
    const known = this.#learnKind(path, kind, change)
    // A misfit is reported once.
    if (known === undefined) this.#names.set(path, { kind, file: undefined, seen: this.#tree.writes })
    this.#expectParent(path, change)
  }

  #exchange(change: Extract<Change, { type: 'exchange' }>): void {
    const { path, other } = change
    if (isWithin(path, other) || isWithin(other, path)) {
      this.#refuse(change, 'would lie in itself')
      return
    }
    const [one, two] = [this.#take(path), this.#take(other)]
    this.#put(path, two)
    this.#put(other, one)
    this.#learnKind(path, change.kind, change)
    this.#learnKind(other, change.otherKind, change)
  }

  /**
   * Sets the kind of a known path. An entry that was deleted before the watcher could stat it was told as a
   * file, unless its event had IN_ISDIR.
   */
  #learnKind(path: string, kind: Kind, change: Change): Known | undefined {
    const known = this.#names.get(path)
    if (known === undefined) this.#refuse(change, 'is not there')
    else if ((known.kind === 'directory') !== (kind === 'directory'))
      this.#refuse(change, `is a ${known.kind}`)
    else known.kind = kind
    return known
  }

  #put(path: string, names: Names): void {
    for (const [rest, known] of names) this.#names.set(path + rest, known)
  }

  /**
   * Removes a path from the map, and the entries below it unless the watcher tells those one by one. Returns
   * all that was removed, with relative paths.
   */
  #take(path: string): Names {
    const taken: Names = new Map()
    for (const [other, known] of this.#names) {
      if (this.#isExpanded ? other !== path : !isWithin(other, path)) continue
      taken.set(other.slice(path.length), known)
      this.#names.delete(other)
    }
    return taken
  }

  #expectParent(path: string, change: Change): void {
    const parent = path.slice(0, path.lastIndexOf('/'))
    // The watcher may tell entries of the inner root before the outer root tells the directory itself.
    if (parent === NESTED && this.#nesting !== '') return
    if (parent === SIBLING && this.#hasSibling) return
    if (parent !== ROOT && this.#names.get(parent)?.kind !== 'directory')
      this.#refuse(change, 'is in nothing')
  }

  #refuse(change: Change, why: string): void {
    this.#misfits.push(`told '${inWords(change)}', which ${why}`)
  }

  #forget(isForgotten: (path: string) => boolean): void {
    for (const path of this.#names.keys()) if (isForgotten(path)) this.#names.delete(path)
  }

  /** Takes the tree as it is for known. */
  #learn(): void {
    const there = this.#visible()
    if (there === undefined) return
    this.#names = new Map(
      [...there].map(([path, { kind, file }]) => [path, { kind, file, seen: this.#tree.writes }]),
    )
  }

  #visible(): Map<string, Seen> | undefined {
    const found = new Map<string, Seen>()
    const root = this.#at(ROOT)
    if (root === undefined || !root.isDirectory) return undefined
    this.#descend(ROOT, root, [this.#tree.root, root], found)
    // No operation moves the sibling.
    const sibling = this.#hasSibling ? this.#tree.at(SIBLING) : undefined
    if (sibling !== undefined) this.#descend(SIBLING, sibling, [this.#tree.root, sibling], found)
    return found
  }

  /** @param links the number of links that were followed on the way */
  #descend(
    path: string,
    directory: Inode,
    above: readonly Inode[],
    found: Map<string, Seen>,
    links = 0,
  ): void {
    for (const [name, inode] of directory.children) {
      const entry = `${path}/${name}`
      if (name === this.#ignored || this.#isTooDeep(entry)) continue
      const target = this.#follow && inode.kind === 'symlink' ? this.#at(entry) : inode
      // A link to a directory above itself would lead round in a circle, and is told as a link. A plain
      // directory may lie below itself by way of a link.
      const isLink = inode.kind === 'symlink'
      const isCircle = isLink && target !== undefined && above.includes(target)
      const isEntered = target?.isDirectory === true && !isCircle && !(isLink && links === MOST_LINKS)
      // A link to a file is told as a link with the file's content.
      found.set(entry, {
        kind: isEntered ? 'directory' : inode.kind,
        file: target?.kind === 'file' ? target : undefined,
      })
      if (isEntered) this.#descend(entry, target, [...above, target], found, isLink ? links + 1 : links)
    }
  }

  /** Counts the depth of each root from that root. */
  #isTooDeep(path: string): boolean {
    const isInNested = this.#hasNestedRoot && path.startsWith(`${NESTED}/`)
    const root = [SIBLING, ROOT].find((each) => path.startsWith(`${each}/`)) as string
    const between = path.slice((isInNested ? NESTED : root).length + 1).split('/').length - 1
    return this.#depth > 0 && between > this.#depth
  }

  #at(path: string): Inode | undefined {
    try {
      return this.#tree.at(path)
    } catch (error) {
      if (error instanceof Refused) return undefined
      throw error
    }
  }
}

interface Seen {
  kind: Kind
  /** The file itself, or the file that a link leads to. */
  file: Inode | undefined
}

/** Compares the entries of a watcher, without its roots, with the tree. */
function compareEntries(entries: Iterable<Entry>, there: ReadonlyMap<string, Seen>): string[] {
  const wrong: string[] = []
  const listed = new Map<string, Kind>()
  for (const { path, kind } of entries) {
    if (listed.has(path)) wrong.push(`entries() has ${path} twice`)
    listed.set(path, kind)
    const isRoot = [ROOT, NESTED, SIBLING].includes(path)
    if (!isRoot && !there.has(path)) wrong.push(`entries() has ${path}, which is gone`)
  }
  for (const [path, { kind }] of there)
    if (listed.get(path) !== kind) wrong.push(`entries() has ${listed.get(path)} at ${path}: ${kind}`)
  return wrong
}

/** 'rename /t/a /t/b replaced (rescan)'. */
export function inWords(change: Change): string {
  const words: string[] = [change.type]
  if (change.type === 'rename') words.push(change.from)
  words.push(change.path)
  if (change.type === 'exchange') words.push(change.other)
  if (change.type === 'rename' && change.replaced) words.push('replaced')
  return 'source' in change && change.source !== 'inotify'
    ? `${words.join(' ')} (${change.source})`
    : words.join(' ')
}
