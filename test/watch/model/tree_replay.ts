import type { Change, ExchangeChange, Kind } from '../../../src/index.ts'
import type { Snapshot } from './snapshot.ts'

/** An entry as believed. */
interface Entry {
  kind: Kind
  /** What a file holds, or where a link leads; undefined: a change has named it, so that it may be anything. */
  content: string | undefined
  readonly entries: Map<string, Entry>
}

/** A change that cannot follow on those before it. */
export interface Fault {
  what: string
  change: Change
  /** Whether events had been lost before. */
  afterOverflow: boolean
}

function entryOf(kind: Kind, content?: string): Entry {
  return { kind, content, entries: new Map() }
}

/**
 * What a consumer believes of a tree that knows nothing but the changes. A rename takes a directory with all below it, a delete
 * speaks for all below it. Nothing is looked at: what is believed is right only if the changes are.
 */
export class TreeReplay {
  readonly #root: string
  #tree = entryOf('directory')
  #overflows = 0
  readonly faults: Fault[] = []

  /** `root`: absolute, as the watcher was given it. */
  constructor(root: string) {
    this.#root = root
  }

  /** How often events were said to be lost. */
  get overflows(): number {
    return this.#overflows
  }

  /** From now on what is there is believed, and what it holds. */
  adopt(snapshot: Snapshot): void {
    this.#tree = entryOf('directory')
    for (const [path, { kind, content }] of snapshot) {
      const { parent, name } = this.#locate(path)
      parent?.entries.set(name, entryOf(kind, content))
    }
  }

  apply(changes: Iterable<Change>): void {
    for (const change of changes) {
      const what = this.#apply(change)
      if (what !== undefined) this.faults.push({ what, change, afterOverflow: this.#overflows > 0 })
    }
  }

  /** Paths relative to the root. Parents before what is in them. */
  entries(): Map<string, { kind: Kind; content: string | undefined }> {
    const all = new Map<string, { kind: Kind; content: string | undefined }>()
    const add = (directory: Entry, prefix: string) => {
      for (const [name, entry] of directory.entries) {
        all.set(prefix + name, { kind: entry.kind, content: entry.content })
        add(entry, `${prefix + name}/`)
      }
    }
    add(this.#tree, '')
    return all
  }

  /** Does what it can, and says what was wrong. */
  #apply(change: Change): string | undefined {
    if (!('kind' in change)) {
      if (change.type === 'overflow') this.#overflows++
      return change.type === 'lost' || change.type === 'restored' ? 'the root never went' : undefined
    }
    const { parent, name } = this.#locate(this.#relative(change.path))
    if (parent === undefined) return 'in no directory'
    const known = parent.entries.get(name)
    switch (change.type) {
      case 'create':
        // What is told twice is still there once, with all that is in it.
        if (known?.kind !== 'directory' || change.kind !== 'directory')
          parent.entries.set(name, entryOf(change.kind))
        return known === undefined ? undefined : `is there already, a ${known.kind}`
      case 'delete':
        parent.entries.delete(name)
        return learn(known, change.kind)
      case 'modify':
        if (known !== undefined) known.content = undefined
        return learn(known, change.kind)
      case 'attrib':
        return learn(known, change.kind)
      case 'rename':
        return this.#rename(change, parent, name, known)
      case 'exchange':
        return this.#exchange(change, parent, name, known)
    }
  }

  #rename(
    change: Change & { type: 'rename' },
    parent: Entry,
    name: string,
    there: Entry | undefined,
  ): string | undefined {
    const from = this.#locate(this.#relative(change.from))
    const moved = from.parent?.entries.get(from.name)
    if (from.parent === undefined || moved === undefined) {
      parent.entries.set(name, entryOf(change.kind))
      return `from ${change.from}, where nothing is`
    }
    from.parent.entries.delete(from.name)
    parent.entries.set(name, moved)
    if (change.replaced !== (there !== undefined)) return change.replaced ? 'replaced nothing' : 'is taken'
    return learn(moved, change.kind)
  }

  #exchange(
    { other, kind, otherKind }: ExchangeChange,
    parent: Entry,
    name: string,
    known: Entry | undefined,
  ): string | undefined {
    const there = this.#locate(this.#relative(other))
    const moved = there.parent?.entries.get(there.name)
    if (there.parent === undefined || moved === undefined) return `with ${other}, where nothing is`
    if (known === undefined) return 'is not there'
    parent.entries.set(name, moved)
    there.parent.entries.set(there.name, known)
    return learn(moved, kind) ?? learn(known, otherKind)
  }

  #relative(path: string): string {
    return path.startsWith(`${this.#root}/`) ? path.slice(this.#root.length + 1) : `/${path}`
  }

  /** The directory that a path lies in, if one is believed to be there. A path out of the root has none. */
  #locate(path: string): { parent: Entry | undefined; name: string } {
    const names = path.split('/')
    const name = names.pop() as string
    let parent: Entry | undefined = this.#tree
    for (const each of names) {
      const entry: Entry | undefined = parent?.entries.get(each)
      parent = entry?.kind === 'directory' ? entry : undefined
    }
    return { parent, name }
  }
}

/**
 * A name that was gone before anybody could look at it is told as a file, if the event does not say that it is a directory: what
 * is told of it later may know better.
 */
function learn(known: Entry | undefined, kind: Kind): string | undefined {
  if (known === undefined) return 'is not there'
  if ((known.kind === 'directory') !== (kind === 'directory')) return `is a ${known.kind}`
  known.kind = kind
  return undefined
}
