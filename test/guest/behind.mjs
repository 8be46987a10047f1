// Changes of entries behind a mount, by name: the host makes them behind a guest's share, and the guest
// behind its own mounts. JavaScript, because the guest runs this file without a build.
import { mkdir, open, rename, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { OPERATIONS } from '../mirror/scenarios/operations.mjs'

/**
 * @typedef {object} Own
 * @property {number} count the number of versions
 * @property {number} size the bytes of each version
 * @property {number} burst the number of versions in a row
 * @property {number} pause the ms until the next burst
 */

/** @typedef {import('../mirror/scenarios/operations.mjs').Parameters & Own} Parameters */

/**
 * Makes a change. Resolves to its result, if any.
 *
 * @typedef {(parameters: Parameters) => Promise<unknown>} Change
 */

/**
 * Returns the content of a file in its n-th version: one character repeated, so that a reader recognizes a
 * torn file.
 *
 * @param {number} n @param {number} size
 */
const version = (n, size) => String.fromCharCode(65 + (n % 26)).repeat(size)

/** @type {Record<string, Change>} */
export const CHANGES = {
  ...OPERATIONS,

  /** Changes nothing: calibrates the clock. */
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

  /** Makes `count` files, 100 in a directory. */
  async many({ path, count }) {
    for (let i = 0; i < count; i++) {
      const directory = `${path}/${Math.floor(i / 100)}`
      if (i % 100 === 0) await mkdir(directory, { recursive: true })
      await writeFile(`${directory}/${i}`, 'one')
    }
  },

  /**
   * Makes versions 1 to `count` like the AtomicWriter: bursts of `burst` without a pause, `pause` ms apart.
   */
  async swaps({ path, count, pause, size, burst }) {
    for (let n = 1; n <= count; n++) {
      await atomicWrite(path, { a: version(n, size), b: version(n, size) })
      if (n % burst === 0) await sleep(pause)
    }
  },

  /**
   * Makes versions 1 to `count` of one file, each truncated and written in 8 parts: bursts of `burst`,
   * `pause` ms apart. Returns the longest pause within a version: no reader can tell a writer that pauses
   * from one that is done.
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
