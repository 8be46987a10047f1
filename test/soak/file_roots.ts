import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Choice } from '../mirror/model/random.mjs'

/** Roots that are files, or are not there: no other writer comes by, who could put a directory in the place of one. */
export class FileRoots {
  readonly paths: string[]
  readonly #other: string
  #count = 0

  constructor(tree: string) {
    this.paths = ['f/a', 'f/b', 'f/g/a', 'f/g/link'].map((name) => join(tree, name))
    this.#other = join(tree, 'f/other')
  }

  /** Changes some of the files. A directory above may have gone, with the tree. */
  change(choice: Choice): void {
    for (let n = choice.below(8); n > 0; n--) {
      const path = choice.of(this.paths)
      mkdirSync(dirname(path), { recursive: true })
      const content = `content ${++this.#count}`
      const draft = `${path}.draft`
      const what = choice.below(5)
      if (what === 0) rmSync(path, { force: true })
      else if (what === 1) writeFileSync(path, content)
      else if (what === 2 && path.endsWith('link')) {
        writeFileSync(this.#other, content)
        symlinkSync('../other', draft)
        renameSync(draft, path)
      } else if (what === 3) {
        const directory = dirname(path)
        renameSync(directory, `${directory}.aside`)
        if (choice.isLikely(50)) renameSync(`${directory}.aside`, directory)
        else rmSync(`${directory}.aside`, { recursive: true })
      } else {
        writeFileSync(draft, content)
        renameSync(draft, path)
      }
    }
  }
}
