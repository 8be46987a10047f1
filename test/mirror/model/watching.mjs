// Says what tight readers of a target may meet from one quiet moment to the next.
import fs from 'node:fs'
import { constants } from 'node:os'
import { join, relative } from 'node:path'
import { headerInWords } from './judge.mjs'
import { MEMBER } from './look.mjs'

/** @typedef {import('./judge.mjs').Possible} Possible */

const { EIO } = constants.errno

/** Paths that are read at a time: each the more often the fewer they are. */
const MOST = 24

/** `names`: those of the first level that it is reached by. @typedef {{ path: string, names: string[], isKey: boolean, steady: boolean, linked: boolean, headers: Set<string> }} Watched */

export class Watching {
  #reader
  /** @type {Watched[]} */
  #watched = []
  #mayMix = false
  #isUnattended = false

  /** @param {import('./reader.mjs').Reader} reader */
  constructor(reader) {
    this.#reader = reader
  }

  /**
   * From now on: of what there may be now.
   *
   * @param {string} target
   * @param {readonly Possible[]} possible
   * @param {(name: string) => boolean} isReadable what is below a name of the first level
   * @param {import('./random.mjs').Choice} choice
   */
  async begin(target, possible, isReadable, choice) {
    const files = [...(possible[0]?.view ?? [])].flatMap(([path, { kind }]) =>
      kind === 'file' && isReadable(path.split('/')[0] ?? '') ? [path] : [],
    )
    const paths = files.length > MOST ? choice.some(files, (100 * MOST) / files.length).slice(0, MOST) : files
    this.#mayMix = false
    this.#isUnattended = false
    this.#watched = paths.map((path) => ({
      path,
      names: namesOnTheWay(target, path),
      isKey: isKey(target, path),
      steady: true,
      linked: false,
      headers: new Set(),
    }))
    this.allow(possible)
    await this.#reader.watch(target, this.#watched)
  }

  /** Another moment: what is not a file at each of them is nobody's to rely on. @param {readonly Possible[]} possible */
  allow(possible) {
    if (possible.length === 0) this.exempt()
    for (const watched of this.#watched) {
      for (const { view } of possible) {
        const leaf = view.get(watched.path)
        if (leaf?.kind !== 'file') watched.steady = false
        else {
          watched.headers.add(leaf.header)
          watched.linked ||= leaf.linked
          // The keys are the source's own, by whatever way they are read.
          if (leaf.linked) this.#mayMix = true
          if (leaf.linked && this.#isUnattended) watched.steady = false
          // A link in a version below the source leads over the `..data` beside it, to whatever is there now.
          if (leaf.linked && watched.path.includes('/..2')) watched.steady = false
        }
      }
    }
  }

  /** A link into a source leads nowhere as soon as the source has lost what it leads to, and no mirror is asked before: only a copy can be promised. */
  distrustLinks() {
    this.#isUnattended = true
    for (const watched of this.#watched) if (watched.linked) watched.steady = false
  }

  /**
   * Somebody has done something to these names of the first level; to all if none is given. The pass under way cannot know that a member of a
   * rotation has been taken away, and may lead the link of its family there until the next pass looks: so a family is exempt as a whole.
   *
   * @param {readonly string[]} [names]
   */
  exempt(names) {
    if (names === undefined) this.#mayMix = true
    const families = names?.map(familyOf)
    for (const watched of this.#watched)
      if (families === undefined || watched.names.some((name) => families.includes(familyOf(name))))
        watched.steady = false
  }

  /** Returns what readers met against the rules, a line each, and the number of reads. */
  async end() {
    const { met, mixed } = await this.#reader.stop()
    /** @type {string[]} */
    const wrong = []
    let reads = 0
    for (const [i, { path, steady, linked, headers }] of this.#watched.entries()) {
      const seen = met[i]
      if (!steady || seen === undefined) continue
      const what = `a reader of ${JSON.stringify(path)}, ${seen.reads} reads:`
      reads += seen.reads
      // A FUSE mount says EIO of a name that has become a file of another type behind it: where links lead there, that is the source's own.
      const isOfMount = linked && seen.errno === EIO
      if (seen.missing > 0 && !isOfMount) wrong.push(`${what} ${seen.missing} times ${errorName(seen.errno)}`)
      // Links over the limits lead to the source's files, which are written in place.
      if (linked) continue
      if (seen.torn > 0) wrong.push(`${what} ${seen.torn} times torn`)
      for (const header of seen.headers)
        if (!headers.has(header))
          wrong.push(`${what} a version that never was there: ${headerInWords(header)}`)
    }
    if (mixed !== '' && !this.#mayMix) wrong.push(`a reader of keys in one directory, a mix: ${mixed}`)
    this.#watched = []
    return { wrong, reads }
  }
}

/** The path's own, and that of what a link leads to, behind a version of keys as well. @param {string} target @param {string} path */
function namesOnTheWay(target, path) {
  const own = path.split('/')[0] ?? ''
  try {
    const [first = '', second = ''] = relative(
      fs.realpathSync(target),
      fs.realpathSync(join(target, path)),
    ).split('/')
    return [own, first, second]
  } catch {
    return [own]
  }
}

/** @param {string} name */
function familyOf(name) {
  return name.split(MEMBER)[0] ?? ''
}

/** @param {string} target @param {string} path */
function isKey(target, path) {
  try {
    return fs.readlinkSync(join(target, path.split('/')[0] ?? '')).startsWith('..data/')
  } catch {
    return false
  }
}

/** @param {number} errno */
function errorName(errno) {
  return { 2: 'ENOENT', 20: 'ENOTDIR', 21: 'EISDIR', 40: 'ELOOP' }[errno] ?? `errno ${errno}`
}
