/** A consumer of changes: applies each change by itself. */
export class Believed {
  /** @type {Set<string>} */
  paths = new Set()
  /**
   * The paths that were told as written or as created.
   *
   * @type {Set<string>}
   */
  written = new Set()

  /** @param {import('../../dist/index.js').Change[]} changes */
  apply(changes) {
    for (const change of changes) {
      if (change.type === 'delete') this.#take(change.path)
      if (change.type === 'create') this.paths.add(change.path)
      if (change.type === 'create' || change.type === 'modify') this.written.add(change.path)
      if (change.type === 'rename') this.#move(change.from, change.path)
    }
  }

  /** @param {string} path */
  #take(path) {
    const taken = [...this.paths].filter((each) => each === path || each.startsWith(`${path}/`))
    for (const each of taken) this.paths.delete(each)
    return taken
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  #move(from, to) {
    const moved = this.#take(from)
    this.#take(to)
    for (const path of moved) this.paths.add(to + path.slice(from.length))
  }
}
