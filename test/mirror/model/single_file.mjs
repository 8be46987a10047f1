// A source that is a file.
import fs from 'node:fs'
import { basename } from 'node:path'
import { isLink } from './look.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./writer.mjs').Allowed} Allowed */

export class SingleFile {
  #writer

  /** @param {import('./writer.mjs').Writer} writer */
  constructor(writer) {
    this.#writer = writer
  }

  /** Its beginning. @param {Choice} choice */
  make(choice) {
    fs.writeFileSync(this.#writer.path, this.#writer.content(choice, this.#tag))
  }

  /** @param {Choice} choice @param {Allowed} allowed */
  async change(choice, { inPlace, empty }) {
    const writer = this.#writer
    const { path } = writer
    const content = writer.content(choice, this.#tag, { mayBeEmpty: empty })
    if (inPlace && choice.isLikely(30) && !isLink(path)) {
      fs.writeFileSync(path, content)
      return await writer.said(`is rewritten in place: ${content.length} bytes`)
    }
    const next = writer.aside()
    fs.writeFileSync(next, content)
    if (choice.isLikely(20)) {
      const link = `${next}.link`
      // The same from before the mount and behind it.
      fs.symlinkSync(`aside/${basename(next)}`, link)
      fs.renameSync(link, path)
      return await writer.said(`is a link to another file: ${content.length} bytes`)
    }
    fs.renameSync(next, path)
    await writer.said(`is another file: ${content.length} bytes`)
  }

  get #tag() {
    return `file${this.#writer.index}`
  }
}
