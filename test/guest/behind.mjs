// What is changed behind a mount, by name: by the host behind a guest's share, by the guest itself behind what it mounts of its own.
// JavaScript, because the guest runs it as it is.
import { mkdir, open, rename, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { OPERATIONS } from '../mirror/scenarios/operations.mjs'

/**
 * @typedef {object} Own
 * @property {number} count how many versions
 * @property {number} size of each, in bytes
 * @property {number} burst how many at once
 * @property {number} pause ms until the next as many
 */

/** @typedef {import('../mirror/scenarios/operations.mjs').Parameters & Own} Parameters */

/** Resolves to what it has to say, if anything. @typedef {(parameters: Parameters) => Promise<unknown>} Change */

/** A file's content in its n-th version: one character, so that a reader sees what is torn. @param {number} n @param {number} size */
const version = (n, size) => String.fromCharCode(65 + (n % 26)).repeat(size)

/** @type {Record<string, Change>} */
export const CHANGES = {
  ...OPERATIONS,

  /** Nothing: for calibrating the clock. */
  async ping() {},

  async swap({ path, files }) {
    await atomicWrite(path, files)
  },

  async 'in-place'({ path, text }) {
    await writeFile(path, text, { flag: 'r+' })
  },

  async 'same-times'({ path, text }) {
    const { atime, mtime } = await stat(path)
    await writeFile(path, text, { flag: 'r+' })
    await utimes(path, atime, mtime)
  },

  async 'rename-over'({ path, text }) {
    await writeFile(`${path}.staged~`, text)
    await rename(`${path}.staged~`, path)
  },

  create: ({ path, text }) => writeFile(path, text, { flag: 'wx' }),

  unlink: ({ path }) => unlink(path),

  async 'to-symlink'({ path }) {
    await unlink(path)
    await symlink('elsewhere', path)
  },

  async directory({ path }) {
    await mkdir(path, { recursive: true })
  },

  /** Versions 1 to `count` by the AtomicWriter: bursts of `burst` as fast as it can, `pause` ms apart. */
  async swaps({ path, count, pause, size, burst }) {
    for (let n = 1; n <= count; n++) {
      await atomicWrite(path, { a: version(n, size), b: version(n, size) })
      if (n % burst === 0) await sleep(pause)
    }
  },

  /**
   * Versions 1 to `count` of one file, emptied and written in 8 parts: bursts of `burst`, `pause` ms apart. Says how long the longest pause within a version was: no reader can tell a writer that pauses from one that is done.
   */
  async rewrites({ path, count, pause, size, burst }) {
    let longest = 0
    for (let n = 1; n <= count; n++) {
      let last = performance.now()
      const file = await open(path, 'w')
      for (let part = 0; part < 8; part++) {
        await file.write(version(n, size / 8))
        const now = performance.now()
        longest = Math.max(longest, now - last)
        last = now
      }
      await file.close()
      if (n % burst === 0) await sleep(pause)
    }
    return { longest }
  },
}
