// A source of the model's, and what people do with theirs.
import fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ConfigMap } from './config_map.mjs'
import { Entries } from './entries.mjs'
import { namesIn, readNode } from './look.mjs'
import { Rotations } from './rotations.mjs'
import { SingleFile } from './single_file.mjs'
import { quoted, Writer } from './writer.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./writer.mjs').Allowed} Allowed */
/** @typedef {'configmap' | 'chained' | 'flat' | 'file'} Layout 'chained': `..data` leads to the keys by two links */

export class Source {
  #writer
  #layout
  #entries
  #configMap
  #rotations
  #file

  /** @param {Layout} layout @param {import('./writer.mjs').Surroundings} around */
  constructor(layout, around) {
    this.#layout = layout
    this.#writer = new Writer(around)
    this.#entries = new Entries(this.#writer)
    this.#configMap = new ConfigMap(this.#writer, this.#entries)
    this.#rotations = new Rotations(this.#writer, around)
    this.#file = new SingleFile(this.#writer)
  }

  get index() {
    return this.#writer.index
  }

  get shown() {
    return this.#writer.shown
  }

  get isFile() {
    return this.#layout === 'file'
  }

  get isThere() {
    return fs.existsSync(this.#writer.path)
  }

  /** Reads what the mirror can find at the source. */
  read() {
    const { path } = this.#writer
    if (!this.isFile) return readNode(path)
    try {
      return readNode(fs.realpathSync(path))
    } catch {
      return undefined
    }
  }

  /** Its beginning. @param {Choice} choice */
  async make(choice) {
    const { path } = this.#writer
    fs.mkdirSync(dirname(path), { recursive: true })
    if (this.isFile) return this.#file.make(choice)
    fs.mkdirSync(path)
    this.#fill(path, this.#layout, choice)
    if (this.#layout !== 'flat') return
    for (const what of choice.some(['volume', 'worktree', 'rotate'], 60))
      await this.change(what, choice, { inPlace: false, empty: true, leaveBehind: false })
  }

  /** @param {string} what @param {Choice} choice @param {Allowed} allowed */
  async change(what, choice, allowed) {
    const { path } = this.#writer
    if (what === 'back' || !this.isThere) return await this.back(choice)
    if (what === 'away') {
      if (fs.existsSync(`${path}.away`)) return
      fs.renameSync(path, `${path}.away`)
      return await this.#writer.said('is renamed away')
    }
    if (this.isFile) return await this.#file.change(choice, allowed)
    if (what === 'replace') return await this.#replace(choice)
    if (what === 'remake') return await this.#remake(choice)
    if (what === 'convert') return await this.#convert(choice, allowed)
    if (what === 'rewrite') return await this.#entries.rewrite(choice)
    if (what === 'odd') return await this.#entries.addOdd(choice)
    if (what === 'bulk') return await this.#bulk(choice, allowed)
    if (what === 'volume') return await this.#rotations.swapVolume(choice, allowed)
    if (what === 'worktree') return await this.#rotations.swapWorktree(choice)
    if (what === 'rotate') return await this.#rotations.rotate(choice, allowed)
    const isFlat = this.#layout === 'flat' || what === 'flat'
    return await (isFlat ? this.#entries.change(choice, allowed) : this.#configMap.swap(choice, allowed))
  }

  /** Brings it back from where it has gone, or makes it anew. @param {Choice} choice */
  async back(choice) {
    const { path } = this.#writer
    if (this.isThere) return
    if (fs.existsSync(`${path}.away`)) fs.renameSync(`${path}.away`, path)
    else await this.make(choice)
    await this.#writer.said('is back')
  }

  /** @param {string} directory @param {Layout} layout @param {Choice} choice */
  #fill(directory, layout, choice) {
    const names = choice.some(this.#writer.names(choice), 60)
    if (layout === 'flat') this.#entries.lay(directory, names, choice)
    else this.#configMap.lay(directory, names, layout === 'chained', choice)
  }

  /** Many files at once, or few: to get over the limits and back. @param {Choice} choice @param {Allowed} allowed */
  async #bulk(choice, allowed) {
    const writer = this.#writer
    const count = choice.of([0, 2, 12, 12, 40, 60])
    const many = Array.from({ length: count }, (_, n) => `many${this.index}-${n}`)
    if (this.#configMap.isThere)
      return await this.#configMap.swap(choice, allowed, [...choice.some(writer.names(choice), 75), ...many])
    const directory = join(writer.path, `many${this.index}`)
    // In a moment: beyond the limits each moment between would count.
    if (fs.existsSync(directory)) {
      const old = writer.aside('old')
      fs.renameSync(directory, old)
      await writer.said('has no directory of many files')
      fs.rmSync(old, { recursive: true })
    }
    if (count === 0) return
    const next = writer.aside('next')
    fs.mkdirSync(next)
    for (const name of many)
      fs.writeFileSync(join(next, name), writer.content(choice, `${basename(directory)}/${name}`))
    fs.renameSync(next, directory)
    await writer.said(`has a directory of ${count} files`)
  }

  /** A ConfigMap becomes flat or a flat directory a ConfigMap, in its place. @param {Choice} choice @param {Allowed} allowed */
  async #convert(choice, allowed) {
    if (this.#configMap.isThere) {
      await this.#configMap.dissolve(choice, allowed)
      this.#layout = 'flat'
    } else {
      await this.#configMap.establish(choice)
      this.#layout = 'configmap'
    }
  }

  /** Another directory takes the path. @param {Choice} choice */
  async #replace(choice) {
    const writer = this.#writer
    const layout = choice.of(/** @type {const} */ (['configmap', 'flat', 'chained']))
    const [next, old] = [writer.aside('next'), writer.aside('old')]
    fs.mkdirSync(next)
    this.#fill(next, layout, choice)
    fs.renameSync(writer.path, old)
    await writer.said('is away for a moment')
    fs.renameSync(next, writer.path)
    this.#layout = layout
    await writer.said(`is another directory, ${layout}: ${quoted(namesIn(writer.path))}`)
    fs.rmSync(old, { recursive: true })
  }

  /** It is removed, and made anew. @param {Choice} choice */
  async #remake(choice) {
    const writer = this.#writer
    // Removes keys before ..data, and ..data before the directories that it leads to.
    const rank = (/** @type {string} */ name) => (name === '..data' ? 1 : name.startsWith('..') ? 2 : 0)
    for (const name of namesIn(writer.path).toSorted((a, b) => rank(a) - rank(b)))
      await this.#entries.remove(name)
    fs.rmdirSync(writer.path)
    await writer.said('is removed')
    fs.mkdirSync(writer.path)
    await writer.said('is made anew')
    this.#layout = 'flat'
    await this.#entries.add(choice.some(writer.names(choice), 50), choice)
  }
}
