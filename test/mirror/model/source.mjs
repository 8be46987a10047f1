// A source of the model's, and what people do with theirs.
import fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { contentOf } from './content.mjs'
import { namesIn, readNode } from './look.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {'configmap' | 'chained' | 'flat' | 'file'} Layout 'chained': `..data` leads to the keys by two links */

/**
 * @typedef {object} Surroundings
 * @property {number} index
 * @property {string} path where it is changed
 * @property {string} shown where the mirror finds it: behind a mount, or the same
 * @property {string} aside a directory on the same file system
 * @property {() => number} version one that no content has had yet
 * @property {(what: string) => Promise<void>} changed to be awaited after each change that a pass may meet
 */

/** What the round's settings allow. @typedef {{ inPlace: boolean, empty: boolean, leaveBehind: boolean }} Allowed */

/** Sizes of files. The last does not fit into one read of the mirror's. */
const SIZES = [100, 300, 1000, 3000, 3000, 300_000]

export class Source {
  #around
  #layout
  #serial = 0

  /** @param {Layout} layout @param {Surroundings} around */
  constructor(layout, around) {
    this.#around = around
    this.#layout = layout
  }

  get index() {
    return this.#around.index
  }

  get shown() {
    return this.#around.shown
  }

  get isFile() {
    return this.#layout === 'file'
  }

  get isThere() {
    return fs.existsSync(this.#around.path)
  }

  /** What the mirror can find there. */
  read() {
    const { path } = this.#around
    if (!this.isFile) return readNode(path)
    try {
      return readNode(fs.realpathSync(path))
    } catch {
      return undefined
    }
  }

  /** Its beginning. @param {Choice} choice */
  async make(choice) {
    const { path } = this.#around
    fs.mkdirSync(dirname(path), { recursive: true })
    if (this.isFile) return fs.writeFileSync(path, this.#content(choice, this.#tag))
    fs.mkdirSync(path)
    await this.#fill(path, this.#layout, choice)
  }

  /** @param {string} what @param {Choice} choice @param {Allowed} allowed */
  async change(what, choice, allowed) {
    const { path } = this.#around
    if (what === 'back' || !this.isThere) return await this.back(choice)
    if (what === 'away') {
      if (fs.existsSync(`${path}.away`)) return
      fs.renameSync(path, `${path}.away`)
      return await this.#said('is renamed away')
    }
    if (this.isFile) return await this.#changeFile(choice, allowed)
    if (what === 'replace') return await this.#replace(choice)
    if (what === 'remake') return await this.#remake(choice)
    if (what === 'convert') return await this.#convert(choice, allowed)
    if (what === 'odd') return await this.#addOdd(choice)
    if (what === 'bulk') return await this.#bulk(choice, allowed)
    const isFlat = this.#layout === 'flat' || what === 'flat'
    return await (isFlat ? this.#changeFlat(choice, allowed) : this.#swap(choice, allowed))
  }

  /** Brings it back from where it has gone, or makes it anew. @param {Choice} choice */
  async back(choice) {
    const { path } = this.#around
    if (this.isThere) return
    if (fs.existsSync(`${path}.away`)) fs.renameSync(`${path}.away`, path)
    else await this.make(choice)
    await this.#said('is back')
  }

  get #tag() {
    return `file${this.index}`
  }

  /** Names of its own, and now and then one of the next's: there a file may be a directory. @param {Choice} choice */
  #names(choice) {
    const i = this.index
    const own = [`a${i}`, `b${i}`, `é${i}`, `new\nline${i}`, `-x${i}`, `d${i}/x`, `d${i}/y`, `d${i}/e/z`]
    return choice.isLikely(4) ? [...own, `a${(i + 1) % 3}/x`, `b${(i + 1) % 3}`] : own
  }

  /** @param {Choice} choice @param {string} tag @param {boolean} [mayBeEmpty] */
  #content(choice, tag, mayBeEmpty = true) {
    const { version } = this.#around
    const size = mayBeEmpty && choice.isLikely(6) ? 0 : choice.of(SIZES)
    return contentOf({ tag, source: this.index, version: version(), size })
  }

  /** @param {string} what */
  async #said(what) {
    await this.#around.changed(`source ${this.index} ${what}`)
  }

  /** @param {string} directory @param {Layout} layout @param {Choice} choice */
  async #fill(directory, layout, choice) {
    const names = choice.some(this.#names(choice), 60)
    if (layout === 'flat') {
      for (const name of names) {
        fs.mkdirSync(dirname(join(directory, name)), { recursive: true })
        fs.writeFileSync(join(directory, name), this.#content(choice, name))
      }
      return
    }
    const generation = this.#makeGeneration(directory, names, choice)
    if (layout === 'chained') fs.symlinkSync(generation, join(directory, '..current'))
    fs.symlinkSync(layout === 'chained' ? '..current' : generation, join(directory, '..data'))
    for (const name of firsts(names)) fs.symlinkSync(`..data/${name}`, join(directory, name))
  }

  /** @param {string} directory @param {readonly string[]} keys @param {Choice} choice */
  #makeGeneration(directory, keys, choice) {
    const { version } = this.#around
    const number = version()
    const generation = `..2026_11_21.${number}`
    fs.mkdirSync(join(directory, generation))
    for (const key of keys) {
      const path = join(directory, generation, key)
      fs.mkdirSync(dirname(path), { recursive: true })
      const size = choice.isLikely(6) ? 0 : choice.of(SIZES)
      fs.writeFileSync(path, contentOf({ tag: key, source: this.index, version: number, size }))
      if (choice.isLikely(10)) fs.chmodSync(path, choice.of([0o600, 0o640, 0o644]))
    }
    return generation
  }

  /** The kubelet's update, one system call after the other. @param {Choice} choice @param {Allowed} allowed @param {readonly string[]} [keys] */
  async #swap(choice, { leaveBehind }, keys = choice.some(this.#names(choice), 75)) {
    const { path } = this.#around
    const chained = isLink(join(path, '..current'))
    const link = join(path, chained ? '..current' : '..data')
    const old = isLink(link) ? fs.readlinkSync(link) : undefined
    this.#removeOldGenerations(old)
    const generation = this.#makeGeneration(path, keys, choice)
    await this.#said(`has a new directory ${generation}: ${shown(keys)}`)
    fs.symlinkSync(generation, join(path, '..data_tmp'))
    fs.renameSync(join(path, '..data_tmp'), link)
    await this.#said(`has its ${chained ? 'second link' : '..data'} lead there`)
    const visible = firsts(keys)
    for (const name of visible) {
      if (fs.lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined) continue
      fs.symlinkSync(`..data/${name}`, join(path, name))
      await this.#said(`has ${shown([name])}`)
    }
    for (const name of namesIn(path)) {
      if (!leadsToKey(join(path, name)) || visible.includes(name)) continue
      fs.unlinkSync(join(path, name))
      await this.#said(`has ${shown([name])} no longer`)
    }
    if (leaveBehind || choice.isLikely(30)) return
    this.#removeOldGenerations(generation)
    await this.#said('has removed the old directory')
  }

  /** @param {string | undefined} current */
  #removeOldGenerations(current) {
    const { path } = this.#around
    for (const name of namesIn(path))
      if (name.startsWith('..2') && name !== current) fs.rmSync(join(path, name), { recursive: true })
  }

  /** @param {Choice} choice @param {Allowed} allowed */
  async #changeFlat(choice, allowed) {
    const { path } = this.#around
    const name = choice.of(this.#names(choice))
    const at = join(path, name)
    const what = choice.of([
      'write',
      'write',
      'write',
      'write',
      'remove',
      'chmod',
      'link',
      'remove directory',
    ])
    if (what === 'remove directory') {
      if (!name.includes('/')) return
      this.#clear(name.split('/')[0] ?? '')
      return await this.#said(`has ${shown([name])}'s directory no longer`)
    }
    const there = fs.lstatSync(at, { throwIfNoEntry: false })
    if (what === 'remove' && there?.isFile()) {
      fs.unlinkSync(at)
      await this.#said(`has ${shown([name])} no longer`)
    } else if (what === 'chmod' && there?.isFile()) {
      const mode = choice.of([0o600, 0o640, 0o644, 0o664])
      fs.chmodSync(at, mode)
      await this.#said(`has ${shown([name])} with mode ${mode.toString(8)}`)
    } else if (what === 'link') {
      await this.#link(choice)
    } else {
      await this.#write(name, choice, allowed)
    }
  }

  /** @param {string} name @param {Choice} choice @param {Allowed} allowed */
  async #write(name, choice, { inPlace, empty }) {
    const { path, aside } = this.#around
    const at = join(path, name)
    if (name.includes('/')) {
      const [first = ''] = name.split('/')
      // A key, or another source's file, may have the directory's name.
      if (fs.lstatSync(join(path, first), { throwIfNoEntry: false })?.isDirectory() === false)
        await this.#clearFirst(first)
      fs.mkdirSync(dirname(at), { recursive: true })
    }
    const there = fs.lstatSync(at, { throwIfNoEntry: false })
    if (there?.isDirectory()) await this.#clearFirst(name)
    const content = this.#content(choice, name, empty)
    if (inPlace && there?.isFile() && choice.isLikely(50)) {
      fs.writeFileSync(at, content)
      return await this.#said(`has rewritten ${shown([name])} in place: ${content.length} bytes`)
    }
    const next = join(aside, `${this.index}-${this.#serial++}`)
    fs.writeFileSync(next, content)
    if (choice.isLikely(10)) fs.chmodSync(next, 0o600)
    // A key's link as well: the key is a flat file then.
    fs.renameSync(next, at)
    await this.#said(`has renamed ${content.length} bytes to ${shown([name])}`)
  }

  /** @param {Choice} choice */
  async #link(choice) {
    const { path, aside, shown: front } = this.#around
    const i = this.index
    const [name, to] = choice.of([
      [`l${i}`, `a${i}`],
      [`l${i}`, `d${i}/x`],
      [`l${i}`, `d${i}`],
      [`m${i}`, join(front, `b${i}`)],
      [`d${i}/l`, `../a${i}`],
    ])
    if (fs.lstatSync(join(path, dirname(name)), { throwIfNoEntry: false })?.isDirectory() !== true) return
    const next = join(aside, `${i}-${this.#serial++}`)
    fs.symlinkSync(to, next)
    fs.renameSync(next, join(path, name))
    await this.#said(`has a link ${name} to ${to}`)
  }

  /** What is never mirrored. @param {Choice} choice */
  async #addOdd(choice) {
    const { path } = this.#around
    const name = `odd${this.index}`
    this.#clear(name)
    const to = choice.of(['/etc/hostname', '../../outside', undefined])
    if (to !== undefined) fs.symlinkSync(to, join(path, name))
    await this.#said(to === undefined ? `has nothing odd` : `has a link ${name} to ${to}`)
  }

  /** Many files at once, or few: to get over the limits and back. @param {Choice} choice @param {Allowed} allowed */
  async #bulk(choice, allowed) {
    const { path } = this.#around
    const count = choice.of([0, 2, 12, 12, 40, 60])
    const many = Array.from({ length: count }, (_, n) => `many${this.index}-${n}`)
    if (isLink(join(path, '..data')))
      return await this.#swap(choice, allowed, [...choice.some(this.#names(choice), 75), ...many])
    const directory = join(path, `many${this.index}`)
    const aside = ['old', 'next'].map((what) =>
      join(this.#around.aside, `${what}-${this.index}-${this.#serial++}`),
    )
    const [old = '', next = ''] = aside
    // In a moment: beyond the limits each moment between would count.
    if (fs.existsSync(directory)) {
      fs.renameSync(directory, old)
      await this.#said('has no directory of many files')
      fs.rmSync(old, { recursive: true })
    }
    if (count === 0) return
    fs.mkdirSync(next)
    for (const name of many)
      fs.writeFileSync(join(next, name), this.#content(choice, `${basename(directory)}/${name}`))
    fs.renameSync(next, directory)
    await this.#said(`has a directory of ${count} files`)
  }

  /** A ConfigMap becomes flat or a flat directory a ConfigMap, in its place and name by name. @param {Choice} choice @param {Allowed} allowed */
  async #convert(choice, allowed) {
    const { path } = this.#around
    if (isLink(join(path, '..data'))) {
      for (const name of namesIn(path)) {
        if (!leadsToKey(join(path, name))) continue
        if (fs.statSync(join(path, name), { throwIfNoEntry: false })?.isFile()) {
          await this.#write(name, choice, { ...allowed, empty: false })
        } else {
          this.#clear(name)
          await this.#said(`has ${shown([name])} no longer`)
        }
      }
      for (const name of ['..data', '..current', ...namesIn(path).filter((name) => name.startsWith('..2'))]) {
        this.#clear(name)
        await this.#said(`has ${name} no longer`)
      }
      this.#layout = 'flat'
      return
    }
    const names = this.#names(choice)
    const generation = this.#makeGeneration(path, names, choice)
    fs.symlinkSync(generation, join(path, '..data'))
    await this.#said(`has a first ..data: ${shown(names)}`)
    for (const name of firsts(names)) {
      const next = join(path, '..next')
      fs.symlinkSync(`..data/${name}`, next)
      if (fs.lstatSync(join(path, name), { throwIfNoEntry: false })?.isDirectory())
        await this.#clearFirst(name)
      fs.renameSync(next, join(path, name))
      await this.#said(`has ${shown([name])} as a key`)
    }
    this.#layout = 'configmap'
  }

  /** Another directory takes the path. @param {Choice} choice */
  async #replace(choice) {
    const { path, aside } = this.#around
    const layout = choice.of(/** @type {const} */ (['configmap', 'flat', 'chained']))
    const [next, old] = ['next', 'old'].map((what) => join(aside, `${what}-${this.index}-${this.#serial++}`))
    if (next === undefined || old === undefined) return
    fs.mkdirSync(next)
    await this.#fill(next, layout, choice)
    fs.renameSync(path, old)
    await this.#said('is away for a moment')
    fs.renameSync(next, path)
    this.#layout = layout
    await this.#said(`is another directory, ${layout}: ${shown(namesIn(path))}`)
    fs.rmSync(old, { recursive: true })
  }

  /** It is removed, and made anew. @param {Choice} choice */
  async #remake(choice) {
    const { path } = this.#around
    // What leads somewhere goes before that does.
    const rank = (/** @type {string} */ name) => (name === '..data' ? 1 : name.startsWith('..') ? 2 : 0)
    for (const name of namesIn(path).toSorted((a, b) => rank(a) - rank(b))) {
      this.#clear(name)
      await this.#said(`has ${shown([name])} no longer`)
    }
    fs.rmdirSync(path)
    await this.#said('is removed')
    fs.mkdirSync(path)
    await this.#said('is made anew')
    this.#layout = 'flat'
    for (const name of choice.some(this.#names(choice), 50)) {
      fs.mkdirSync(dirname(join(path, name)), { recursive: true })
      fs.writeFileSync(join(path, name), this.#content(choice, name))
      await this.#said(`has ${shown([name])}`)
    }
  }

  /** @param {Choice} choice @param {Allowed} allowed */
  async #changeFile(choice, { inPlace, empty }) {
    const { path, aside } = this.#around
    const content = this.#content(choice, this.#tag, empty)
    const next = join(aside, `${this.index}-${this.#serial++}`)
    if (inPlace && choice.isLikely(30) && !isLink(path)) {
      fs.writeFileSync(path, content)
      return await this.#said(`is rewritten in place: ${content.length} bytes`)
    }
    fs.writeFileSync(next, content)
    if (choice.isLikely(20)) {
      const link = `${next}.link`
      // The same from before the mount and behind it.
      fs.symlinkSync(`aside/${basename(next)}`, link)
      fs.renameSync(link, path)
      return await this.#said(`is a link to another file: ${content.length} bytes`)
    }
    fs.renameSync(next, path)
    await this.#said(`is another file: ${content.length} bytes`)
  }

  /** What rename(2) would not replace. @param {string} name */
  async #clearFirst(name) {
    this.#clear(name)
    await this.#said(`has ${shown([name])} no longer, for a moment`)
  }

  /** @param {string} name */
  #clear(name) {
    fs.rmSync(join(this.#around.path, name), { recursive: true, force: true })
  }
}

/** @param {string} path */
function isLink(path) {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

/** @param {string} path */
function leadsToKey(path) {
  return isLink(path) && fs.readlinkSync(path).startsWith('..data/')
}

/** @param {readonly string[]} names */
function firsts(names) {
  return [...new Set(names.map((name) => name.split('/')[0] ?? ''))]
}

/** @param {readonly string[]} names */
function shown(names) {
  return names.map((name) => JSON.stringify(name)).join(' ')
}
