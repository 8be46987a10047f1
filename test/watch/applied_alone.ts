import type { Change, Kind } from '../../src/index.ts'

/** A name, and those below it. */
interface Place {
  kind: Kind
  readonly below: Map<string, Place>
}

type AnyChange = Change | Change<Buffer>

/**
 * A consumer that applies each change by itself, in order, to a plain table of names, and puts nothing aside. It refuses what does not fit:
 * that is what {@link Change} promises. Paths that are Buffers are known by their bytes, as latin1.
 */
export class AppliedAlone {
  readonly #roots: readonly string[]
  readonly #top: Place = place('directory')

  /** `roots`: absolute, as the watcher was given them. */
  constructor(...roots: string[]) {
    this.#roots = roots
    for (const root of roots) this.#plant(root)
  }

  /** What was there before the first change; parents before what is in them. */
  adopt(names: Iterable<readonly [path: string, kind: Kind]>): this {
    for (const [path, kind] of names) this.#put(path, place(kind))
    return this
  }

  /** Throws with the first that does not fit, in words. Those before it have been applied. */
  apply(changes: Iterable<AnyChange>): this {
    for (const change of changes) {
      const fault = this.#apply(change)
      if (fault !== undefined) throw new Error(`${sentence(change)}: ${fault}`)
    }
    return this
  }

  /** All that is believed, without the roots; parents before what is in them. */
  get names(): Map<string, Kind> {
    const names = new Map<string, Kind>()
    const collect = (path: string, { below }: Place) => {
      for (const [name, each] of below) {
        names.set(`${path}/${name}`, each.kind)
        collect(`${path}/${name}`, each)
      }
    }
    for (const root of this.#roots) {
      const top = this.#at(root)
      if (top !== undefined && top.kind !== 'directory') names.set(root, top.kind)
      if (top !== undefined) collect(root, top)
    }
    return names
  }

  /** What is wrong with it. */
  #apply(change: AnyChange): string | undefined {
    if (!('kind' in change)) return undefined
    const path = keyOf(change.path)
    const known = this.#at(path)
    switch (change.type) {
      case 'create':
        return this.#create(path, change.kind, known)
      case 'delete':
        if (known !== undefined) this.#take(path)
        return learn(known, change.kind)
      case 'modify':
      case 'attrib':
        return learn(known, change.kind)
      case 'rename':
        return this.#rename(keyOf(change.from), path, change)
      case 'exchange':
        return this.#exchange(path, keyOf(change.other), change)
    }
  }

  #create(path: string, kind: Kind, known: Place | undefined): string | undefined {
    // A root is taken for a directory until it is said to be a file.
    const isFileRoot = this.#roots.includes(path) && kind !== 'directory' && known?.below.size === 0
    if (known !== undefined && !isFileRoot) return `the name is taken, by a ${known.kind}`
    return this.#put(path, place(kind)) ? undefined : 'it is in no directory'
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

  /** False: there is no directory for it. */
  #put(path: string, what: Place): boolean {
    return this.#parentOf(path)?.below.set(lastOf(path), what) !== undefined
  }

  #take(path: string): void {
    this.#parentOf(path)?.below.delete(lastOf(path))
  }

  #plant(root: string): void {
    let at = this.#top
    for (const name of namesOf(root)) {
      const next: Place = at.below.get(name) ?? place('directory')
      at.below.set(name, next)
      at = next
    }
  }
}

/** A change in words, for whoever has to find out what is wrong with it. */
function sentence(change: AnyChange): string {
  const words: string[] = [change.type]
  if ('kind' in change) words.push(change.kind)
  if (change.type === 'rename') words.push(keyOf(change.from), 'to')
  words.push(keyOf(change.path))
  if (change.type === 'rename' && change.replaced) words.push('(replaced)')
  if (change.type === 'exchange') words.push('with', change.otherKind, keyOf(change.other))
  return `${words.join(' ')} (${change.source})`
}

const place = (kind: Kind): Place => ({ kind, below: new Map() })
const keyOf = (path: string | Buffer) => (typeof path === 'string' ? path : path.toString('latin1'))
const namesOf = (path: string) => path.split('/').filter((name) => name !== '')
const lastOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)
const isWithin = (path: string, other: string) => path === other || path.startsWith(`${other}/`)

/** What was gone before anybody could look at it is told as a file, unless its event says that it is a directory. */
function learn(known: Place | undefined, kind: Kind): string | undefined {
  if (known === undefined) return 'nothing has this name'
  if ((known.kind === 'directory') !== (kind === 'directory')) return `it is a ${known.kind}`
  known.kind = kind
  return undefined
}
