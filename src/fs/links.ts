import { setImmediate } from 'node:timers/promises'
import type { Change } from '../watch/report/change.ts'
import type { Watcher } from '../watch/watcher.ts'

/** Watches what a link leads to; `renew` is to be called when that may be something else by now. The answer ends it. Throws as it cannot be watched. */
type Follow = (link: Buffer, renew: () => void) => () => void

/** Entries between which others have their turn. */
const PORTION = 1000

/** The symlinks of a tree, each watched by what it leads to, as fs.watch() has it: a file, or a directory's own entries, and nothing below these. */
export class Links {
  readonly #watcher: Watcher<Buffer>
  readonly #follow: Follow
  // By their bytes, as text.
  readonly #ends = new Map<string, () => void>()

  constructor(watcher: Watcher<Buffer>, follow: Follow) {
    this.#watcher = watcher
    this.#follow = follow
    watcher.on('changes', (changes) => {
      for (const change of changes) this.#take(change)
    })
    watcher.on('close', () => this.#remove(''))
    watcher.ready.then(
      () => this.#addAll(),
      () => {},
    )
  }

  async #addAll(): Promise<void> {
    let count = 0
    for (const { path, kind } of this.#watcher.entries()) {
      if (kind === 'symlink') this.#add(path)
      if (++count % PORTION === 0) await setImmediate()
    }
  }

  #take(change: Change<Buffer>): void {
    if (change.type === 'restored') void this.#addAll()
    if (change.type === 'lost') this.#remove(change.path.toString('latin1'))
    if (!('mask' in change) || change.type === 'attrib') return
    // watch() tells nothing by itself of entries that move with their directory.
    if (change.type === 'rename') this.#renew(change.from)
    if (change.type === 'exchange') this.#renew(change.other)
    if (change.kind === 'symlink' || !/^(create|modify)$/.test(change.type)) this.#renew(change.path)
  }

  /** Something else is at this path, or nothing. */
  #renew(path: Buffer): void {
    this.#remove(path.toString('latin1'))
    for (const each of this.#watcher.entries(path.toString()))
      if (each.kind === 'symlink') this.#add(each.path)
  }

  #add(link: Buffer): void {
    const key = link.toString('latin1')
    if (this.#ends.has(key)) return
    try {
      this.#ends.set(
        key,
        this.#follow(link, () => this.#renew(link)),
      )
    } catch {
      // It leads nowhere, or to what may not be watched: fs.watch() says nothing of that.
    }
  }

  /** Ends the watches of the links at and below a path. */
  #remove(path: string): void {
    for (const [link, end] of this.#ends) {
      if (link !== path && !link.startsWith(`${path}/`)) continue
      this.#ends.delete(link)
      end()
    }
  }
}
