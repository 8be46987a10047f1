// Changes a source: chooses names and content, and tells of each change.
import { join } from 'node:path'
import { contentOf } from './content.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */

/**
 * @typedef {object} Surroundings
 * @property {number} index
 * @property {string} path where it is changed
 * @property {string} shown where the mirror finds it: behind a mount, or the same
 * @property {string} aside a directory on the same file system
 * @property {() => number} version one that no content has had yet
 * @property {(what: string) => Promise<void>} changed to be awaited after each change that a pass may meet
 */

/** Permissions of the round's settings. @typedef {{ inPlace: boolean, empty: boolean, leaveBehind: boolean }} Allowed */

/** Sizes of files. The last does not fit into one read of the mirror's. */
const SIZES = [100, 300, 1000, 3000, 3000, 300_000]

export class Writer {
  #around
  #serial = 0

  /** @param {Surroundings} around */
  constructor(around) {
    this.#around = around
  }

  get index() {
    return this.#around.index
  }

  get path() {
    return this.#around.path
  }

  /** The path at which the mirror finds the source. */
  get shown() {
    return this.#around.shown
  }

  /** A version that no content has had yet. */
  version() {
    return this.#around.version()
  }

  /** Names of its own, and now and then one of the next's: there a file may be a directory. @param {Choice} choice */
  names(choice) {
    const i = this.index
    const own = [`a${i}`, `b${i}`, `é${i}`, `new\nline${i}`, `-x${i}`, `d${i}/x`, `d${i}/y`, `d${i}/e/z`]
    return choice.isLikely(4) ? [...own, `a${(i + 1) % 3}/x`, `b${(i + 1) % 3}`] : own
  }

  /** @param {Choice} choice @param {string} tag @param {{ mayBeEmpty?: boolean, version?: number, size?: number }} [how] */
  content(choice, tag, { mayBeEmpty = true, version = this.version(), size } = {}) {
    const drawn = mayBeEmpty && choice.isLikely(6) ? 0 : choice.of(SIZES)
    return contentOf({ tag, source: this.index, version, size: size ?? drawn })
  }

  /** A path from which rename(2) leads to the source, and that nothing has had. @param {string} [what] */
  aside(what = 'new') {
    return join(this.#around.aside, `${what}-${this.index}-${this.#serial++}`)
  }

  /** @param {string} what has become of the source */
  async said(what) {
    await this.#around.changed(`source ${this.index} ${what}`)
  }
}

/** @param {readonly string[]} names */
export function quoted(names) {
  return names.map((name) => JSON.stringify(name)).join(' ')
}
