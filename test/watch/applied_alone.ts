import type { Change, Kind } from '../../src/index.ts'

/** A consumer's knowledge of an entry. */
export interface Belief {
  kind: Kind
  /**
   * The content of a file or the target of a link. Undefined: a change has named the entry since, so that the
   * content may be any.
   */
  held: string | undefined
  /** The time, in ms of Date.now(), at which a create or a new content was last told. */
  told: number
}

/** An entry with the entries below it. */
interface Place extends Belief {
  readonly below: Map<string, Place>
}

type AnyChange = Change | Change<Buffer>

/**
 * A consumer that applies each change alone, in order, to a plain table of names. The consumer refuses
 * changes that do not fit: {@link Change} promises that all do. Paths that are Buffers are kept by their
 * bytes, as latin1.
 */
export class AppliedAlone {
  readonly #roots: readonly string[]
  readonly #top: Place = place('directory', 0)

  /** `roots`: absolute, as the watcher was given them. */
  constructor(...roots: string[]) {
    this.#roots = roots
    for (const root of roots) this.#plant(root)
  }

  /** Adds the entries that were there before the first change. Parents come first. */
  adopt(names: Iterable<readonly [path: string, kind: Kind, held?: string]>, at = Date.now()): this {
    for (const [path, kind, held] of names) this.#put(path, place(kind, at, held))
    return this
  }

  /**
   * Applies changes. Throws at the first that does not fit, with the reason; those before it stay applied.
   */
  apply(changes: Iterable<AnyChange>): this {
    for (const change of changes) {
      const misfit = this.misfit(change)
      if (misfit !== undefined) throw new Error(misfit)
    }
    return this
  }

  /** Applies a change that was told at that time. Returns the reason if the change does not fit. */
  misfit(change: AnyChange, at = Date.now()): string | undefined {
    const fault = this.#apply(change, at)
    return fault === undefined ? undefined : `${sentence(change)}: ${fault}`
  }

  /** Returns all known entries without the roots. Parents come first. */
  get entries(): Map<string, Belief> {
    const entries = new Map<string, Belief>()
    const directories: Array<[path: string, place: Place]> = []
    for (const root of this.#roots) {
      const top = this.#at(root)
      if (top !== undefined && top.kind !== 'directory') entries.set(root, top)
      if (top !== undefined) directories.push([root, top])
    }
    // Loops instead of recursing, because directories may lie thousands of levels deep. The loop also visits
    // the directories that it adds.
    for (const [path, { below }] of directories) {
      for (const [name, each] of below) {
        entries.set(`${path}/${name}`, each)
        if (each.below.size > 0) directories.push([`${path}/${name}`, each])
      }
    }
    return entries
  }

  /** The kinds of {@link entries}. */
  get names(): Map<string, Kind> {
    return new Map([...this.entries].map(([path, { kind }]) => [path, kind]))
  }

  /** Returns the reason if the change does not fit. */
  #apply(change: AnyChange, at: number): string | undefined {
    if (!('mask' in change)) return undefined
    const path = keyOf(change.path)
    const known = this.#at(path)
    switch (change.type) {
      case 'create':
        return this.#create(path, place(change.kind, at), known)
      case 'delete':
        if (known !== undefined) this.#take(path)
        return learn(known, change.kind)
      case 'modify':
        if (known !== undefined) Object.assign(known, { held: undefined, told: at })
        return learn(known, change.kind)
      case 'attrib':
        return learn(known, change.kind)
      case 'rename':
        return this.#rename(keyOf(change.from), path, change)
      case 'exchange':
        return this.#exchange(path, keyOf(change.other), change)
    }
  }

  #create(path: string, created: Place, known: Place | undefined): string | undefined {
    // A root counts as a directory until a create tells its kind.
    if (known?.told === 0 && this.#roots.includes(path)) {
      Object.assign(known, { kind: created.kind, told: created.told })
      return undefined
    }
    if (known !== undefined) return `the name is taken, by a ${known.kind}`
    return this.#put(path, created) ? undefined : 'it is in no directory'
  }

  #rename(from: string, path: string, change: { replaced: boolean; kind: Kind }): string | undefined {
    const [moving, there] = [this.#at(from), this.#at(path)]
    if (moving === undefined) return 'nothing has the name that it leaves'
    if (isWithin(path, from)) return 'it would lie in itself'
    if (there !== undefined && !change.replaced) return `the name is taken, by a ${there.kind}`
    if (there === undefined && change.replaced) return 'it replaces nothing'
    if (isWithin(from, path)) return 'it replaces what it lies in'
    if (this.#parentOf(path) === undefined) return 'it is in no directory'
    this.#take(from)
    this.#put(path, moving)
    return learn(moving, change.kind)
  }

  #exchange(path: string, other: string, change: { kind: Kind; otherKind: Kind }): string | undefined {
    const [one, two] = [this.#at(path), this.#at(other)]
    if (one === undefined || two === undefined) return 'one of the two is not there'
    if (isWithin(path, other) || isWithin(other, path)) return 'one of the two lies in the other'
    this.#put(path, two)
    this.#put(other, one)
    return learn(two, change.kind) ?? learn(one, change.otherKind)
  }

  #at(path: string): Place | undefined {
    let found: Place | undefined = this.#top
    for (const name of namesOf(path)) found = found?.below.get(name)
    return found
  }

  #parentOf(path: string): Place | undefined {
    const parent = this.#at(path.slice(0, path.lastIndexOf('/')))
    return parent?.kind === 'directory' ? parent : undefined
  }

  /** Returns false if the parent directory is unknown. */
  #put(path: string, what: Place): boolean {
    return this.#parentOf(path)?.below.set(lastOf(path), what) !== undefined
  }

  #take(path: string): void {
    this.#parentOf(path)?.below.delete(lastOf(path))
  }

  #plant(root: string): void {
    let at = this.#top
    for (const name of namesOf(root)) {
      const next: Place = at.below.get(name) ?? place('directory', 0)
      at.below.set(name, next)
      at = next
    }
  }
}

/** Describes a change for people who look for its fault. */
function sentence(change: AnyChange): string {
  const words: string[] = [change.type]
  if ('mask' in change) words.push(change.kind)
  if (change.type === 'rename') words.push(keyOf(change.from), 'to')
  words.push(keyOf(change.path))
  if (change.type === 'rename' && change.replaced) words.push('(replaced)')
  if (change.type === 'exchange') words.push('with', change.otherKind, keyOf(change.other))
  return `${words.join(' ')} (${change.source})`
}

const place = (kind: Kind, told: number, held?: string): Place => ({ kind, told, held, below: new Map() })
const keyOf = (path: string | Buffer) => (typeof path === 'string' ? path : path.toString('latin1'))
const namesOf = (path: string) => path.split('/').filter((name) => name !== '')
const lastOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)
const isWithin = (path: string, other: string) => path === other || path.startsWith(`${other}/`)

/**
 * Sets the kind of a known entry. An entry that was deleted before the watcher could stat it was told as a
 * file, unless its event had IN_ISDIR.
 */
function learn(known: Place | undefined, kind: Kind): string | undefined {
  if (known === undefined) return 'nothing has this name'
  if ((known.kind === 'directory') !== (kind === 'directory')) return `it is a ${known.kind}`
  known.kind = kind
  return undefined
}
