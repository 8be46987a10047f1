/** A path of a {@link PathIndex}: the value kept of it, if any, and the names below it. */
export class IndexedPath<Value> {
  name: string
  /** undefined: this is the beginning of all paths, or has been taken out. */
  parent: IndexedPath<Value> | undefined
  value: Value | undefined
  // Undefined for most, which are files: a Map for each would double the memory.
  children: Map<string, IndexedPath<Value>> | undefined

  constructor(name: string, parent: IndexedPath<Value> | undefined) {
    this.name = name
    this.parent = parent
  }

  get path(): string {
    const names: string[] = []
    let at: IndexedPath<Value> = this
    for (; at.parent !== undefined; at = at.parent) names.push(at.name)
    return names.reverse().join('/')
  }

  /** Yields the values of this path and of all below it. */
  *values(): Generator<Value> {
    // Trees may be deeper than a stack.
    const open: Array<IndexedPath<Value>> = [this]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at.value !== undefined) yield at.value
      for (const child of at.children?.values() ?? []) open.push(child)
    }
  }
}

/**
 * Values by path. A directory's values come and go with it: a rename costs the length of the two
 * paths, however many values there are, and however many of those lie below.
 */
export class PathIndex<Value> {
  readonly #top = new IndexedPath<Value>('', undefined)

  /** Returns the path; undefined: no value is kept of it, nor of anything below. */
  at(path: string): IndexedPath<Value> | undefined {
    let at: IndexedPath<Value> | undefined = this.#top
    for (const name of path.split('/')) at = at?.children?.get(name)
    return at
  }

  /** Returns the path as at() does, but makes a missing one, to be given a value. */
  make(path: string): IndexedPath<Value> {
    let at = this.#top
    for (const name of path.split('/'))
      at = at.children?.get(name) ?? this.#add(new IndexedPath(name, at), at)
    return at
  }

  /** Takes a path out with all below it. */
  take(path: string): IndexedPath<Value> | undefined {
    const taken = this.at(path)
    if (taken !== undefined) this.#cut(taken)
    return taken
  }

  /** Puts a path that was taken out at another path, of which nothing is kept. */
  put(taken: IndexedPath<Value>, path: string): void {
    const slash = path.lastIndexOf('/')
    const parent = this.make(path.slice(0, slash))
    taken.name = path.slice(slash + 1)
    taken.parent = parent
    this.#add(taken, parent)
  }

  /** Drops the value of a path; values below stay. */
  clear(at: IndexedPath<Value>): void {
    at.value = undefined
    if (at.children === undefined) this.#cut(at)
  }

  #add(child: IndexedPath<Value>, parent: IndexedPath<Value>): IndexedPath<Value> {
    parent.children ??= new Map()
    parent.children.set(child.name, child)
    return child
  }

  /** Cuts a path off, with each directory above it that is empty then. */
  #cut(cut: IndexedPath<Value>): void {
    let at = cut
    for (;;) {
      const { parent } = at
      if (parent === undefined) return
      parent.children?.delete(at.name)
      at.parent = undefined
      if (parent.children !== undefined && parent.children.size > 0) return
      parent.children = undefined
      if (parent.value !== undefined) return
      at = parent
    }
  }
}
