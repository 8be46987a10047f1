// A target that has no room now and then: a tmpfs, which is made smaller and larger below the mirror.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

/** Bytes, and inodes, that are left. */
const BYTES = [0, 4 << 10, 8 << 10, 64 << 10, 400 << 10, 64 << 20]
const INODES = [0, 1, 4, 12, 100_000]

export class Room {
  #mounted
  /** True if the sources may not fit into the target. */
  isScarce = false
  // Since the target last was all that it should be:
  wasScarce = false
  isSaid = false

  /** @param {string | undefined} mounted a tmpfs; without it there is room for all */
  constructor(mounted) {
    this.#mounted = mounted
  }

  get isVariable() {
    return this.#mounted !== undefined
  }

  /** Something in words, '' if nothing. @param {import('./random.mjs').Choice} choice */
  change(choice) {
    return this.isScarce && choice.isLikely(30) ? this.widen() : this.#narrow(choice)
  }

  widen() {
    if (!this.isScarce) return ''
    if (!this.#remount(1 << 30, 1_000_000)) throw new Error('the target cannot be made larger')
    this.isScarce = false
    return 'the target has room for all'
  }

  /** Returns true if an error of the mirror's reports that there was no room, and notes that. @param {unknown} code */
  hears(code) {
    if (code !== 'ENOSPC' || !this.wasScarce) return false
    this.isSaid = true
    return true
  }

  settle() {
    this.wasScarce = this.isScarce
    this.isSaid = false
  }

  /** Leaves room for a little more than there is. @param {import('./random.mjs').Choice} choice */
  #narrow(choice) {
    const { bsize, blocks, bfree, files, ffree } = fs.statfsSync(String(this.#mounted))
    const [bytes, inodes] = [choice.of(BYTES), choice.of(INODES)]
    // Refused if the mirror has made more meanwhile.
    if (!this.#remount((blocks - bfree) * bsize + bytes, files - ffree + inodes)) return ''
    this.isScarce = true
    this.wasScarce = true
    return `the target has room for ${bytes} bytes and ${inodes} inodes more`
  }

  /** @param {number} size @param {number} inodes */
  #remount(size, inodes) {
    // 0 would be no limit.
    const options = `remount,size=${Math.max(size, 4096)},nr_inodes=${inodes}`
    return spawnSync('mount', ['-o', options, String(this.#mounted)]).status === 0
  }
}
