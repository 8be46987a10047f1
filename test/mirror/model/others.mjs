// The others of a round: what they do to the target, and what may therefore be there until all is quiet.
import fs from 'node:fs'
import { join } from 'node:path'
import { attackDirectory, attackEntry, attackLayout, STOLEN } from './attacks.mjs'
import { homeOf, isWithin, namesIn } from './look.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./judge.mjs').Possible} Possible */

/** An attack in words, and the names that may be anything now: undefined for all. @typedef {{ done: string, names: string[] | undefined }} Attack */

const FOREIGN = 'theirs-'

export class Others {
  #target
  #isSole
  /** Paths that the sources may have lost, with somebody else's in their place. @type {Set<string>} */
  #disturbed = new Set()
  #isLayoutDisturbed = false
  /** Others' files. @type {Map<string, string>} */
  #theirs = new Map()

  /** @param {string} target @param {boolean} isSole whether it is that of a single file */
  constructor(target, isSole) {
    this.#target = target
    this.#isSole = isSole
  }

  get haveDisturbed() {
    return this.#isLayoutDisturbed || this.#disturbed.size > 0
  }

  /** Returns true if no attack has touched what the mirror shows under a name. @param {string} name */
  haveSpared(name) {
    return !this.#isLayoutDisturbed && !this.#disturbed.has(name)
  }

  /** Returns true if a path, or one above it, may be anything, or nothing. @param {string} path @param {readonly Possible[]} possible */
  isExempt(path, possible) {
    const isAsked = (/** @type {string} */ at) =>
      possible.some(({ view, data }) => view.has(at) || (at === '..data' && data !== 'is not there'))
    const parts = path.split('/')
    return parts.some((name, depth) => {
      const at = parts.slice(0, depth + 1).join('/')
      const isOthers = depth === 0 && (name.startsWith(FOREIGN) || name.startsWith(STOLEN))
      return !isAsked(at) && (isOthers || this.#disturbed.has(at))
    })
  }

  /** Lists the others' files in the target that are not as they were put there. */
  judge() {
    return [...this.#theirs].flatMap(([name, content]) => {
      const path = join(this.#target, name)
      const is = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : 'nothing'
      return is === content ? [] : [`somebody else's ${name} is ${JSON.stringify(is)}`]
    })
  }

  /** Takes away what they have put in place of what is no longer to be there. @param {readonly Possible[]} possible */
  clearUp(possible) {
    this.#isLayoutDisturbed = false
    const stolen = namesIn(this.#target).filter((name) => name.startsWith(STOLEN))
    for (const path of [...stolen, ...this.#disturbed])
      if (this.isExempt(path, possible) && isWithin(this.#target, join(this.#target, path, '..')))
        fs.rmSync(join(this.#target, path), { recursive: true, force: true })
    this.#disturbed.clear()
  }

  /** They write a file of their own; its name. @param {Choice} choice @param {number} version */
  write(choice, version) {
    const name = `${FOREIGN}${choice.below(3)}`
    const content = `somebody else's, ${version}`
    fs.writeFileSync(join(this.#target, name), content)
    this.#theirs.set(name, content)
    return name
  }

  /**
   * @param {string} what
   * @param {Possible | undefined} shown by the mirror
   * @param {boolean} isSpared whether the directory itself is not to be attacked
   * @param {Choice} choice
   * @returns {Attack | undefined} undefined if nothing has been done
   */
  attack(what, shown, isSpared, choice) {
    if (what === 'attack directory') return isSpared ? undefined : this.#attackDirectory(choice)
    if (what === 'attack ..data') return this.#attackLayout(choice)
    const paths = [...(shown?.view ?? [])].flatMap(([path, { kind }]) => (kind === 'nothing' ? [] : [path]))
    return this.#attackEntry(paths, choice)
  }

  /** They take the whole directory. @param {Choice} choice @returns {Attack} */
  #attackDirectory(choice) {
    const done = attackDirectory(this.#target, choice)
    this.#theirs.clear()
    this.#disturbed.clear()
    this.#isLayoutDisturbed = true
    return { done, names: undefined }
  }

  /** @param {Choice} choice @returns {Attack | undefined} undefined if nothing has been done */
  #attackLayout(choice) {
    const done = attackLayout(this.#target, choice)
    if (done === '') return
    this.#isLayoutDisturbed = true
    this.#disturbed.add('..data')
    return { done, names: undefined }
  }

  /** @param {readonly string[]} paths that the mirror shows @param {Choice} choice @returns {Attack | undefined} undefined if nothing has been done */
  #attackEntry(paths, choice) {
    if (paths.length === 0) return
    const [path, another] = [choice.of(paths), choice.of(paths)]
    // An attack behind a link, or a write by a link's name, disturbs the entry that the link leads to.
    const names = [path, another].flatMap((each) =>
      [each.split('/')[0], homeOf(this.#target, join(each, '..')), homeOf(this.#target, each)].flatMap(
        (name) => name ?? [],
      ),
    )
    const done = attackEntry(this.#target, path, another, this.#isSole, choice)
    if (done === '') return
    for (const each of [path, another, ...names]) this.#disturbed.add(each)
    return { done, names }
  }
}
