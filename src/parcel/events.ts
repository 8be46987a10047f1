import { type Change, isClose } from '../watch/report/change.ts'
import { entriesOfLost, type Watcher } from '../watch/watcher.ts'

/** A change of a path. */
export interface Event {
  /** `update`: content, mode or owner changed, or another file took its place. */
  type: 'create' | 'update' | 'delete'
  /** The absolute path. */
  path: string
}

/** One event a path: what has come and gone is none, what has gone and come is an update. */
export class Events {
  readonly #watcher: Watcher
  readonly #types = new Map<string, Event['type']>()

  /** @param watcher whose changes these are */
  constructor(watcher: Watcher) {
    this.#watcher = watcher
  }

  get size(): number {
    return this.#types.size
  }

  add(changes: Iterable<Change>): this {
    for (const change of changes) this.#add(change)
    return this
  }

  /** Returns the events since the last call. */
  take(): Event[] {
    const events = [...this.#types].map(([path, type]) => ({ path, type }))
    this.#types.clear()
    return events
  }

  #add(change: Change): void {
    if (isClose(change)) return
    if (change.type === 'lost') {
      this.#remove(change.path)
      for (const { path } of entriesOfLost(this.#watcher, change.path)) this.#remove(path)
    } else if (change.type === 'restored') {
      for (const { path } of this.#watcher.entries(change.path)) this.#create(path)
    }
    if (!('mask' in change)) return
    if (change.type === 'rename') this.#remove(change.from)
    if (change.type === 'exchange') this.#update(change.other)
    if (change.type === 'delete') this.#remove(change.path)
    else if (change.type === 'create' || (change.type === 'rename' && !change.replaced))
      this.#create(change.path)
    else this.#update(change.path)
  }

  #create(path: string): void {
    this.#types.set(path, this.#types.get(path) === 'delete' ? 'update' : 'create')
  }

  #update(path: string): void {
    this.#types.set(path, this.#types.get(path) === 'create' ? 'create' : 'update')
  }

  #remove(path: string): void {
    if (this.#types.get(path) === 'create') this.#types.delete(path)
    else this.#types.set(path, 'delete')
  }
}
