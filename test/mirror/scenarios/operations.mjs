// Changes behind a silent mount. The scenarios' own process makes them in the namespace, the host makes them for a guest.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, link, lstat, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { atomicWrite } from '../../../examples/kubelet.mjs'

const execute = promisify(execFile)

/**
 * @typedef {object} Parameters
 * @property {string} path what is changed
 * @property {string} to of a symlink its text, of a rename the new name, relative to the old one's directory
 * @property {string} text
 * @property {number} mode
 * @property {number} uid
 * @property {number} gid
 * @property {number} seconds since the epoch
 * @property {string} kind as mknod(1) knows it
 * @property {Record<string, string>} files
 */

/** By name. @type {Record<string, (parameters: Parameters) => Promise<unknown>>} */
export const OPERATIONS = {
  /** In place, if there is such a file. */
  write: ({ path, text }) => writeFile(path, text),

  /** Writes beside a file, in a directory that no mirror watches, and renames. */
  async replace({ path, text }) {
    const staged = join(dirname(path), '../staged')
    await writeFile(staged, text)
    await rename(staged, path)
  },

  /** As the kubelet's AtomicWriter. */
  atomic: ({ path, files }) => atomicWrite(path, files),

  makeDirectory: ({ path }) => mkdir(path, { recursive: true }),
  symlink: ({ path, to }) => symlink(to, path),
  rename: ({ path, to }) => rename(path, join(dirname(path), to)),
  remove: ({ path }) => rm(path, { recursive: true }),
  chmod: ({ path, mode }) => chmod(path, mode),
  chown: ({ path, uid, gid }) => chown(path, uid, gid),
  setMtime: ({ path, seconds }) => utimes(path, seconds, seconds),

  /** Writes in place and puts the times back. */
  async writeSameTimes({ path, text }) {
    const { atime, mtime } = await lstat(path)
    await writeFile(path, text)
    await utimes(path, atime, mtime)
  },

  /** A FIFO or a device. */
  special: ({ path, kind }) => execute('mknod', [path, kind, ...(kind === 'p' ? [] : ['1', '3'])]),

  /** A socket that outlives its server, which on closing removes only the name that it was given. */
  async socket({ path }) {
    const server = createServer().listen(`${path}~`)
    await once(server, 'listening')
    await link(`${path}~`, path)
    server.close()
    await once(server, 'close')
  },
}

/**
 * The same as methods, where the scenario's own directory is the root.
 *
 * @param {(operation: string, parameters: Partial<Parameters>) => Promise<unknown>} change
 */
export function behind(change) {
  return {
    /** @param {string} path @param {string} text */
    write: (path, text) => change('write', { path, text }),
    /** @param {string} path @param {string} text */
    replace: (path, text) => change('replace', { path, text }),
    /** @param {string} path @param {Record<string, string>} files */
    atomic: (path, files) => change('atomic', { path, files }),
    /** @param {string} path @param {string} to */
    symlink: (path, to) => change('symlink', { path, to }),
    /** @param {string} path @param {string} to */
    rename: (path, to) => change('rename', { path, to }),
    /** @param {string} path @param {number} mode */
    chmod: (path, mode) => change('chmod', { path, mode }),
    /** @param {string} path @param {number} uid @param {number} gid */
    chown: (path, uid, gid) => change('chown', { path, uid, gid }),
    /** @param {string} path @param {number} seconds */
    setMtime: (path, seconds) => change('setMtime', { path, seconds }),
    /** @param {string} path @param {string} text */
    writeSameTimes: (path, text) => change('writeSameTimes', { path, text }),
    /** @param {string} path @param {string} kind */
    special: (path, kind) => change('special', { path, kind }),
    /** @param {string} path */
    socket: (path) => change('socket', { path }),
    /** @param {string} path */
    makeDirectory: (path) => change('makeDirectory', { path }),
    /** @param {string} path */
    remove: (path) => change('remove', { path }),
  }
}
