// Rotates sets below a source that change as a whole: an AtomicWriter volume, git-sync's worktrees, a certificate by a link.
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigMap } from './config_map.mjs'
import { Entries } from './entries.mjs'
import { isLink, MEMBER, namesIn } from './look.mjs'
import { Writer } from './writer.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */
/** @typedef {import('./writer.mjs').Allowed} Allowed */

/** Numbers of swaps within moments, so that a pass meets them in the midst. */
const SWAPS = [1, 1, 2, 4]

export class Rotations {
  #writer
  #inVolume
  #volume

  /** @param {Writer} writer @param {import('./writer.mjs').Surroundings} around the same writer's */
  constructor(writer, around) {
    this.#writer = writer
    this.#inVolume = new Writer({ ...around, path: join(around.path, `vol${around.index}`) })
    this.#volume = new ConfigMap(this.#inVolume, new Entries(this.#inVolume))
  }

  /** A volume below the source, as the kubelet updates it: now and then twice within moments. @param {Choice} choice @param {Allowed} allowed */
  async swapVolume(choice, allowed) {
    const { path } = this.#inVolume
    if (this.#volume.isThere) {
      for (let swaps = choice.of(SWAPS); swaps > 0; swaps--) await this.#volume.swap(choice, allowed)
      return
    }
    const next = this.#writer.aside('next')
    fs.mkdirSync(next)
    this.#volume.lay(next, choice.some(this.#writer.names(choice), 75), choice.isLikely(30), choice)
    fs.renameSync(next, path)
    await this.#writer.said(`has a volume ${basename(path)}`)
  }

  /** A worktree is complete before the link leads there, and the old one goes after that. @param {Choice} choice */
  async swapWorktree(choice) {
    for (let swaps = choice.of(SWAPS); swaps > 0; swaps--) await this.#swapWorktree(choice)
  }

  /** A file under a new name each time, to which one link leads, or two. @param {Choice} choice @param {Allowed} allowed */
  async rotate(choice, allowed) {
    for (let swaps = choice.of(SWAPS); swaps > 0; swaps--) await this.#rotate(choice, allowed)
  }

  /** @param {Choice} choice */
  async #swapWorktree(choice) {
    const writer = this.#writer
    const link = `tree${writer.index}`
    const trees = `${link}${MEMBER}worktrees`
    const version = writer.version()
    const directory = join(writer.path, trees, `rev${version}`)
    for (const below of ['', 'z']) fs.mkdirSync(join(directory, below), { recursive: true })
    for (const name of ['a', ...choice.some(['b', 'z/c'], 80)])
      fs.writeFileSync(join(directory, name), writer.content(choice, `tree/${name}`, { version }))
    await writer.said(`has a new worktree rev${version}`)
    await this.#lead(link, `${trees}/rev${version}`)
    for (const old of namesIn(join(writer.path, trees))) {
      if (old === `rev${version}`) continue
      fs.rmSync(join(writer.path, trees, old), { recursive: true })
      await writer.said(`has no worktree ${old}`)
    }
  }

  /** @param {Choice} choice @param {Allowed} allowed */
  async #rotate(choice, { inPlace }) {
    const writer = this.#writer
    const name = `cert${writer.index}`
    const [next, second] = [`${name}${MEMBER}${writer.version()}`, `${name}${MEMBER}link`]
    fs.writeFileSync(join(writer.path, next), writer.content(choice, name))
    await writer.said(`has ${next}`)
    if (choice.isLikely(50)) {
      await this.#lead(second, next)
      await this.#lead(name, second)
    } else await this.#lead(name, next)
    for (const old of namesIn(writer.path)) {
      const isOld = old.startsWith(`${name}${MEMBER}`) && old !== next
      if (!isOld || (old === second && fs.readlinkSync(join(writer.path, name)) === second)) continue
      fs.unlinkSync(join(writer.path, old))
      await writer.said(`has no ${old}`)
    }
    // A log, always of one size, or a file that is given its mode last: a pass may not have it before that is over.
    const wait = choice.of([3, 6])
    for (let left = choice.of([0, 10]); left > 0; left--) {
      if (inPlace) fs.writeFileSync(join(writer.path, next), writer.content(choice, name, { size: 3000 }))
      else fs.chmodSync(join(writer.path, next), choice.of([0o600, 0o640, 0o644]))
      await writer.said(`goes on with ${next}`)
      await sleep(wait)
    }
  }

  /** @param {string} name @param {string} to */
  async #lead(name, to) {
    const { path } = this.#writer
    if (isLink(join(path, name)) && fs.readlinkSync(join(path, name)) === to) return
    const next = this.#writer.aside()
    fs.symlinkSync(to, next)
    fs.renameSync(next, join(path, name))
    await this.#writer.said(`has a link ${name} to ${to}`)
  }
}
