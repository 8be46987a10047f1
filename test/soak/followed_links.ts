import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Choice } from '../mirror/model/random.mjs'

/**
 * A directory with links to places outside. The links are few: links from one directory to the next make as
 * many paths as there are ways through them, and in a tree that others write for hours those would soon have
 * no end.
 */
export class FollowedLinks {
  readonly path: string
  readonly #outside: string
  #count = 0

  constructor(base: string) {
    this.path = join(base, 'linked')
    this.#outside = join(base, 'outside')
    for (const name of ['one', 'two']) mkdirSync(join(this.#outside, name), { recursive: true })
    mkdirSync(join(this.path, 'd'), { recursive: true })
    this.#point('one', join(this.#outside, 'current'))
    this.#point('../outside/one', join(this.path, 'one'))
    this.#point('../../outside/current', join(this.path, 'd/current'))
    this.#point('../outside/current/a', join(this.path, 'file'))
  }

  /** Changes some of the links and of their targets. */
  change(choice: Choice): void {
    for (let n = choice.below(8); n > 0; n--) {
      const there = join(this.#outside, choice.of(['one', 'two']))
      const file = join(there, choice.of(['a', 'b', 'c/a', 'c/b']))
      const what = choice.below(7)
      if (what === 0) rmSync(file, { force: true })
      else if (what === 1) this.#point(choice.of(['one', 'two', 'none']), join(this.#outside, 'current'))
      else if (what === 2) this.#point(`../outside/${choice.of(['one', 'two'])}`, join(this.path, 'one'))
      else if (what === 3 && existsSync(there)) {
        renameSync(there, `${there}.aside`)
        if (choice.isLikely(50)) renameSync(`${there}.aside`, there)
        else rmSync(`${there}.aside`, { recursive: true })
      } else {
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, `content ${++this.#count}`)
      }
    }
  }

  #point(to: string, path: string): void {
    symlinkSync(to, `${path}.next`)
    renameSync(`${path}.next`, path)
  }
}
