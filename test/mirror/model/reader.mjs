// A process that reads a target's files as fast as it can: ../../native/target_reader.c.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'

/** Counts of a reader at one path. @typedef {{ reads: number, missing: number, errno: number, torn: number, headers: string[] }} Met */

export class Reader {
  #child
  #lines
  #paths = 0

  /** @param {string} program */
  constructor(program) {
    this.#child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
    // A lower priority, so that the mirror gets on beside the reader.
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, 10)
  }

  /** @param {string} target @param {ReadonlyArray<{ path: string, isKey: boolean }>} paths */
  async watch(target, paths) {
    const hex = (/** @type {string} */ text) => Buffer.from(text).toString('hex')
    const lines = paths.map(({ path, isKey }) => `${hex(path)} ${isKey ? 'key' : 'file'}\n`)
    this.#child.stdin.write(`watch ${hex(target)} ${paths.length}\n${lines.join('')}`)
    this.#paths = paths.length
    await this.#line()
  }

  /** Returns what the reader met since then, in the order of the paths. @returns {Promise<{ met: Met[], mixed: string }>} */
  async stop() {
    this.#child.stdin.write('stop\n')
    /** @type {Met[]} */
    const met = []
    for (let n = 0; n < this.#paths; n++) {
      const [reads = '', missing = '', errno = '', torn = '', headers = '-'] = await this.#line()
      const seen = headers === '-' ? [] : headers.split(',').map((each) => (each === '=' ? '' : each))
      met.push({
        reads: Number(reads),
        missing: Number(missing),
        errno: Number(errno),
        torn: Number(torn),
        headers: seen.map((each) => Buffer.from(each, 'hex').toString('latin1')),
      })
    }
    const [, count, ...example] = await this.#line()
    this.#paths = 0
    return { met, mixed: count === '0' ? '' : `${count} times, ${example.join(' ')}` }
  }

  async end() {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.end()
    await exited
  }

  /** The fields of the next line. */
  async #line() {
    const { value } = await this.#lines.next()
    if (value === undefined) throw new Error('the reader has ended')
    return String(value).split(' ')
  }
}
