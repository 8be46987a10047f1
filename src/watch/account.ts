import { append, type Change } from './change.ts'
import { Directory } from './directory.ts'
import type { Entry } from './entries.ts'
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
