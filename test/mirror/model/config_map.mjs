// The kubelet's layout: keys lead by `..data` to a directory of one version of all of them.
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { isLink, namesIn } from './look.mjs'
import { quoted } from './writer.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./writer.mjs').Allowed} Allowed */

export class ConfigMap {
  #writer
  #entries

  /** @param {import('./writer.mjs').Writer} writer @param {import('./entries.mjs').Entries} entries */
  constructor(writer, entries) {
    this.#writer = writer
    this.#entries = entries
  }

  /** True if the source has this layout just now. */
  get isThere() {
    return isLink(join(this.#writer.path, '..data'))
  }

  /**
   * In a directory that nobody looks at yet.
   *
   * @param {string} directory @param {readonly string[]} keys @param {boolean} isChained @param {Choice} choice
   */
  lay(directory, keys, isChained, choice) {
    const generation = this.#makeGeneration(directory, keys, choice)
    if (isChained) fs.symlinkSync(generation, join(directory, '..current'))
    fs.symlinkSync(isChained ? '..current' : generation, join(directory, '..data'))
    for (const name of firsts(keys)) fs.symlinkSync(`..data/${name}`, join(directory, name))
  }

  /** The kubelet's update, one system call after the other. @param {Choice} choice @param {Allowed} allowed @param {readonly string[]} [keys] */
  async swap(choice, { leaveBehind }, keys = choice.some(this.#writer.names(choice), 75)) {
    const writer = this.#writer
    const { path } = writer
    const chained = isLink(join(path, '..current'))
    const link = join(path, chained ? '..current' : '..data')
    const old = isLink(link) ? fs.readlinkSync(link) : undefined
    this.#removeOldGenerations(old)
    const generation = this.#makeGeneration(path, keys, choice)
    await writer.said(`has a new directory ${generation}: ${quoted(keys)}`)
    fs.symlinkSync(generation, join(path, '..data_tmp'))
    fs.renameSync(join(path, '..data_tmp'), link)
    await writer.said(`has its ${chained ? 'second link' : '..data'} lead there`)
    const visible = firsts(keys)
    for (const name of visible) {
      if (fs.lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined) continue
      fs.symlinkSync(`..data/${name}`, join(path, name))
      await writer.said(`has ${quoted([name])}`)
    }
    for (const name of namesIn(path))
      if (leadsToKey(join(path, name)) && !visible.includes(name)) await this.#entries.remove(name)
    if (leaveBehind || choice.isLikely(30)) return
    this.#removeOldGenerations(generation)
    await writer.said('has removed the old directory')
  }

  /** The keys become flat files, name by name, and the layout goes. @param {Choice} choice @param {Allowed} allowed */
  async dissolve(choice, allowed) {
    const { path } = this.#writer
    for (const name of namesIn(path)) {
      if (!leadsToKey(join(path, name))) continue
      if (fs.statSync(join(path, name), { throwIfNoEntry: false })?.isFile())
        await this.#entries.write(name, choice, { ...allowed, empty: false })
      else await this.#entries.remove(name)
    }
    for (const name of ['..data', '..current', ...namesIn(path).filter((name) => name.startsWith('..2'))]) {
      this.#entries.clear(name)
      await this.#writer.said(`has ${name} no longer`)
    }
  }

  /** A flat directory gets the layout, and what is there becomes keys, name by name. @param {Choice} choice */
  async establish(choice) {
    const writer = this.#writer
    const { path } = writer
    const names = writer.names(choice)
    const generation = this.#makeGeneration(path, names, choice)
    fs.symlinkSync(generation, join(path, '..data'))
    await writer.said(`has a first ..data: ${quoted(names)}`)
    for (const name of firsts(names)) {
      const next = join(path, '..next')
      fs.symlinkSync(`..data/${name}`, next)
      if (fs.lstatSync(join(path, name), { throwIfNoEntry: false })?.isDirectory())
        await this.#entries.clearFirst(name)
      fs.renameSync(next, join(path, name))
      await writer.said(`has ${quoted([name])} as a key`)
    }
  }

  /** @param {string} directory @param {readonly string[]} keys @param {Choice} choice */
  #makeGeneration(directory, keys, choice) {
    const version = this.#writer.version()
    const generation = `..2026_11_21.${version}`
    fs.mkdirSync(join(directory, generation))
    for (const key of keys) {
      const path = join(directory, generation, key)
      fs.mkdirSync(dirname(path), { recursive: true })
      fs.writeFileSync(path, this.#writer.content(choice, key, { version }))
      if (choice.isLikely(10)) fs.chmodSync(path, choice.of([0o600, 0o640, 0o644]))
    }
    return generation
  }

  /** @param {string | undefined} current */
  #removeOldGenerations(current) {
    for (const name of namesIn(this.#writer.path))
      if (name.startsWith('..2') && name !== current) this.#entries.clear(name)
  }
}

/** @param {string} path */
function leadsToKey(path) {
  return isLink(path) && fs.readlinkSync(path).startsWith('..data/')
}

/** @param {readonly string[]} names */
function firsts(names) {
  return [...new Set(names.map((name) => name.split('/')[0] ?? ''))]
}
