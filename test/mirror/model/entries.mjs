// The entries of a source's directory, and how people change them one by one.
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { quoted } from './writer.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./writer.mjs').Allowed} Allowed */

export class Entries {
  #writer

  /** @param {import('./writer.mjs').Writer} writer */
  constructor(writer) {
    this.#writer = writer
  }

  /** Files in a directory that nobody looks at yet. @param {string} directory @param {readonly string[]} names @param {Choice} choice */
  lay(directory, names, choice) {
    for (const name of names) this.#lay(directory, name, choice)
  }

  /** The same, one by one, while it is looked at. @param {readonly string[]} names @param {Choice} choice */
  async add(names, choice) {
    for (const name of names) {
      this.#lay(this.#writer.path, name, choice)
      await this.#writer.said(`has ${quoted([name])}`)
    }
  }

  /** @param {Choice} choice @param {Allowed} allowed */
  async change(choice, allowed) {
    const writer = this.#writer
    const name = choice.of(writer.names(choice))
    const at = join(writer.path, name)
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
      this.clear(name.split('/')[0] ?? '')
      return await writer.said(`has ${quoted([name])}'s directory no longer`)
    }
    const there = fs.lstatSync(at, { throwIfNoEntry: false })
    if (what === 'remove' && there?.isFile()) {
      await this.remove(name)
    } else if (what === 'chmod' && there?.isFile()) {
      const mode = choice.of([0o600, 0o640, 0o644, 0o664])
      fs.chmodSync(at, mode)
      await writer.said(`has ${quoted([name])} with mode ${mode.toString(8)}`)
    } else if (what === 'link') {
      await this.#link(choice)
    } else {
      await this.write(name, choice, allowed)
    }
  }

  /** @param {string} name @param {Choice} choice @param {Allowed} allowed */
  async write(name, choice, { inPlace, empty }) {
    const writer = this.#writer
    const at = join(writer.path, name)
    if (name.includes('/')) {
      const [first = ''] = name.split('/')
      // A key, or another source's file, may have the directory's name.
      if (fs.lstatSync(join(writer.path, first), { throwIfNoEntry: false })?.isDirectory() === false)
        await this.clearFirst(first)
      fs.mkdirSync(dirname(at), { recursive: true })
    }
    const there = fs.lstatSync(at, { throwIfNoEntry: false })
    if (there?.isDirectory()) await this.clearFirst(name)
    const content = writer.content(choice, name, { mayBeEmpty: empty })
    if (inPlace && there?.isFile() && choice.isLikely(50)) {
      fs.writeFileSync(at, content)
      return await writer.said(`has rewritten ${quoted([name])} in place: ${content.length} bytes`)
    }
    const next = writer.aside()
    fs.writeFileSync(next, content)
    if (choice.isLikely(10)) fs.chmodSync(next, 0o600)
    // A key's link as well: the key is a flat file then.
    fs.renameSync(next, at)
    await writer.said(`has renamed ${content.length} bytes to ${quoted([name])}`)
  }

  /** In place and always of one size: only the times and the bytes tell. @param {Choice} choice */
  async rewrite(choice) {
    const writer = this.#writer
    const name = `same${writer.index}`
    const at = join(writer.path, name)
    const content = writer.content(choice, name, { size: 1000 })
    if (fs.existsSync(at)) {
      // Not truncated: a mirror that need not wait for a file to hold still would find it empty.
      const fd = fs.openSync(at, 'r+')
      fs.writeSync(fd, content)
      fs.closeSync(fd)
    } else {
      const next = writer.aside()
      fs.writeFileSync(next, content)
      fs.renameSync(next, at)
    }
    await writer.said(`has rewritten ${quoted([name])}`)
  }

  /** Lays a link that is never mirrored, or removes the link. @param {Choice} choice */
  async addOdd(choice) {
    const name = `odd${this.#writer.index}`
    this.clear(name)
    const to = choice.of(['/etc/hostname', '../../outside', undefined])
    if (to !== undefined) fs.symlinkSync(to, join(this.#writer.path, name))
    await this.#writer.said(to === undefined ? `has nothing odd` : `has a link ${name} to ${to}`)
  }

  /** @param {string} name */
  async remove(name) {
    this.clear(name)
    await this.#writer.said(`has ${quoted([name])} no longer`)
  }

  /** Removes an entry that rename(2) would not replace. @param {string} name */
  async clearFirst(name) {
    this.clear(name)
    await this.#writer.said(`has ${quoted([name])} no longer, for a moment`)
  }

  /** @param {string} name */
  clear(name) {
    fs.rmSync(join(this.#writer.path, name), { recursive: true, force: true })
  }

  /** @param {string} directory @param {string} name @param {Choice} choice */
  #lay(directory, name, choice) {
    const at = join(directory, name)
    fs.mkdirSync(dirname(at), { recursive: true })
    fs.writeFileSync(at, this.#writer.content(choice, name))
  }

  /** @param {Choice} choice */
  async #link(choice) {
    const { path, shown, index: i } = this.#writer
    const [name, to] = choice.of([
      [`l${i}`, `a${i}`],
      [`l${i}`, `d${i}/x`],
      [`l${i}`, `d${i}`],
      [`m${i}`, join(shown, `b${i}`)],
      [`d${i}/l`, `../a${i}`],
    ])
    if (fs.lstatSync(join(path, dirname(name)), { throwIfNoEntry: false })?.isDirectory() !== true) return
    const next = this.#writer.aside()
    fs.symlinkSync(to, next)
    fs.renameSync(next, join(path, name))
    await this.#writer.said(`has a link ${name} to ${to}`)
  }
}
