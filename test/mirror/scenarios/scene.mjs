import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { CHANGES, listenTo } from '../listening.mjs'
import { behind } from './operations.mjs'

/** @typedef {import('../listening.mjs').Library} Library */
/** @typedef {import('../../../src/index.ts').MirrorOptions} MirrorOptions */
/** @typedef {(operation: string, parameters: Partial<import('./operations.mjs').Parameters>) => Promise<unknown>} Change */

/**
 * A silent mount: its kind and, if a test has its own server, the requests to that server.
 *
 * @typedef {object} Mount
 * @property {'FUSE' | 'overlay' | 'guest'} kind
 * @property {boolean} isRoot whether there are other owners to give files to, and devices to be made
 * @property {(rules: Array<{ name: string, operation: string, errno: string }>) => void} [fail]
 * @property {(back: string, front: string) => Promise<import('node:child_process').ChildProcess>} [serve]
 */

/** A long interval, so that passes are those that the scenario asks for; nothing has to hold still for long. */
const QUICK = { interval: 60_000, quiet: 5 }

/** A directory on a silent mount, what can be done behind it, and a mirror of it; all gone when the scenario is over. */
export class Scene {
  /** @type {Array<() => unknown>} */
  #undone = []

  /** @param {{ library: Library, mount: Mount, home: string, memory: string, change: Change }} parts */
  constructor({ library, mount, home, memory, change }) {
    this.library = library
    this.mount = mount
    /** On the mount; `behind` knows it as ''. */
    this.home = home
    /** A directory on a tmpfs. */
    this.memory = memory
    this.behind = behind(change)
    fs.mkdirSync(join(memory, 'marks'), { recursive: true })
  }

  get source() {
    return join(this.home, 'source')
  }

  get target() {
    return join(this.memory, 'target')
  }

  /** Mirrors `source` to `target`. @param {MirrorOptions & { from?: string, to?: string }} [options] */
  async start({ from = this.source, to = this.target, ...options } = {}) {
    const started = await this.library.mirror(from, to, { ...QUICK, ...options })
    this.onEnd(() => started.close())
    return started
  }

  /** @param {string} [path] @param {number} [mask] */
  listen(path = this.target, mask = CHANGES) {
    const listener = listenTo(this.library, path, join(this.memory, 'marks'), mask)
    this.onEnd(() => listener.close())
    return listener
  }

  /** Collects a mirror's events of one kind. @param {import('../../../src/index.ts').Mirror} mirror */
  said(mirror) {
    /** @type {{ states: unknown[], errors: Error[], skipped: unknown[], updates: string[][] }} */
    const said = { states: [], errors: [], skipped: [], updates: [] }
    mirror.on('state', (...state) => said.states.push(state))
    mirror.on('error', (error) => said.errors.push(error))
    mirror.on('skipped', (entry) => said.skipped.push(entry))
    mirror.on('update', ({ changed }) => said.updates.push(changed))
    return said
  }

  /** @param {string} name */
  read(name) {
    return fs.readFileSync(join(this.target, name), 'utf8')
  }

  /** Lists the names that consumers see in a directory of the target: all but the staging directory. @param {string} [name] */
  names(name = '') {
    const all = fs.readdirSync(join(this.target, name))
    return all.filter((each) => !each.startsWith('.inotify-bridge-')).sort()
  }

  /** Reads a key of the target, every version of which is one character 65,536 times, until it is told to stop. @param {string} name */
  async readTightly(name) {
    const program = join(import.meta.dirname, '../reader.mjs')
    const reader = spawn(process.execPath, [program, join(this.target, name)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.onEnd(() => reader.kill('SIGKILL'))
    await once(reader.stdout, 'data')
    return async () => {
      reader.stdin.end()
      /** @type {{ reads: number, missing: number, torn: number, versions: number }} */
      const report = JSON.parse(await text(reader.stdout))
      return report
    }
  }

  /** @param {string} type @param {string} point @param {string[]} rest of mount(8)'s arguments */
  mountAt(type, point, ...rest) {
    fs.mkdirSync(point, { recursive: true })
    const argv = type === 'bind' ? ['--bind', ...rest, point] : ['-t', type, ...rest, type, point]
    const { status, stderr } = spawnSync('mount', argv)
    if (status !== 0) throw new Error(`mount: ${stderr}`)
    // Lazily: a mirror holds it.
    const unmount = () => spawnSync('umount', ['-l', point])
    this.onEnd(unmount)
    return unmount
  }

  /** @param {() => unknown} undo */
  onEnd(undo) {
    this.#undone.push(undo)
  }

  async end() {
    for (const undo of this.#undone.reverse()) await undo()
  }
}

/** @param {string} letter */
export const whole = (letter) => letter.repeat(65_536)

/** Awaits a condition that no event tells of. @param {() => boolean} condition */
export async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
}
