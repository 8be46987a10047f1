import { append, type Change } from '../report/change.ts'
import { LONGEST_PATH } from '../report/watch_error.ts'
import type { Entry } from '../scan/entry.ts'
import { Directory } from './directory.ts'
import type { Tree } from './tree.ts'

/** What is told of events, in their order; and the paths that it takes, as the tree is at that moment. */
export class Account {
  readonly #tree: Tree
  #changes: Change[] = []
  // The path that was made last: events come in runs.
  #directory: Directory | undefined
  #prefix = ''

  constructor(tree: Tree) {
    this.#tree = tree
  }

  tell(change: Change): void {
    append(this.#changes, change)
  }

  /** What has been told since the last time. */
  take(): Change[] {
    const changes = this.#changes
    this.#changes = []
    this.#directory = undefined
    return changes
  }

  pathOf(directory: Directory, name: string): string {
    if (directory !== this.#directory) {
      this.#directory = directory
      this.#prefix = this.#tree.pathOf(directory, '')
    }
    return this.#prefix + name
  }

  /** The topmost directory whose path is longer than one is gone into, if it is this or one that this lies in. */
  beyondDepth(directory: Directory): Directory | undefined {
    let over = this.pathOf(directory, '').length - 1 - LONGEST_PATH
    if (over <= 0) return undefined
    let top = directory
    for (; over > top.name.length + 1 && top.parent !== undefined; top = top.parent)
      over -= top.name.length + 1
    return top
  }

  /** Something has another place in the tree. */
  hasMoved(): void {
    this.#directory = undefined
  }

  /** Takes out of the tree what is told to be gone. */
  remove(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.drop(entry)
    else this.#tree.entriesOf(directory).delete(name)
    this.#directory = undefined
  }
}
