import type { Translator } from '../events/translator.ts'
import type { Change } from '../report/change.ts'
import type { Entry } from '../scan/entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { DiffOptions } from './diff_options.ts'

/** Makes what is believed what a survey has found, and tells of each step as it is made. */
export class Corrections {
  readonly #tree: Tree
  readonly #translator: Translator
  readonly #options: DiffOptions
  #changes: Change[] = []
  // Not where they were. What is found elsewhere has moved.
  readonly #missing = new Set<Directory>()

  constructor(tree: Tree, translator: Translator, options: DiffOptions) {
    this.#tree = tree
    this.#translator = translator
    this.#options = options
  }

  /** What can be told already. */
  takeChanges(): Change[] {
    const changes = this.#changes
    this.#changes = []
    return changes
  }

  /** What is believed to be at a name, where something with this inode number was found. What has left it before is gone. */
  knownAt(parent: Directory, name: string, ino = 0): Entry | undefined {
    const known = this.#tree.entriesOf(parent).get(name)
    const isBack = ino !== 0 && known?.ino === ino
    if (known === undefined || isBack || !this.#translator.hasLeft(parent, name)) return known
    this.delete(parent, name, known)
    return undefined
  }

  /** A directory that nobody knew has come up. */
  create(parent: Directory, name: string, ino: number, mount = parent.mount): Directory {
    const directory = this.#tree.add(parent, name, ino, mount)
    this.tell('create', parent, name, directory)
    return directory
  }

  /** A directory that is not gone into, or a symlink that is not followed, has come up. */
  createLeaf(parent: Directory, name: string, kind: 'directory' | 'symlink'): void {
    const leaf: Entry = { kind, ino: 0 }
    this.#tree.entriesOf(parent).set(name, leaf)
    this.tell('create', parent, name, leaf)
  }

  delete(parent: Directory, name: string, entry: Entry): void {
    this.tell('delete', parent, name, entry)
    if (entry instanceof Directory) {
      this.#missing.delete(entry)
      this.#tree.drop(entry)
    } else this.#tree.entriesOf(parent).delete(name)
  }

  /** A directory was found here that was elsewhere. */
  move(directory: Directory, parent: Directory, name: string): void {
    const { source } = this.#options
    const from = this.#tree.pathOf(directory)
    this.#missing.delete(directory)
    this.#tree.detach(directory)
    this.#tree.attach(directory, parent, name)
    const path = this.#tree.pathOf(parent, name)
    // It has come back to where it left.
    if (path === from) return
    this.#changes.push({ type: 'rename', from, path, replaced: false, kind: 'directory', mask: 0, source })
  }

  /** It is not where it was: it may be found elsewhere yet. */
  miss(directory: Directory): void {
    this.#missing.add(directory)
  }

  /** It is where it was. */
  find(directory: Directory): void {
    this.#missing.delete(directory)
  }

  /** What was not found again is gone. */
  deleteMissing(): void {
    for (const directory of this.#missing) {
      const { parent, name } = directory
      if (parent !== undefined && this.#tree.isAttached(directory)) this.delete(parent, name, directory)
    }
  }

  tell(type: 'create' | 'attrib' | 'delete', parent: Directory, name: string, { kind }: Entry): void {
    const { baseline, source } = this.#options
    if (baseline) return
    this.#changes.push({ type, path: this.#tree.pathOf(parent, name), kind, mask: 0, source })
  }

  /** Made, and put into words, elsewhere. */
  add(changes: readonly Change[]): void {
    for (const change of changes) this.#changes.push(change)
  }
}
