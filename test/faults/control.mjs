// Switches the faults of test/native/faults.c on and off: the other side of its struct control.
import { closeSync, openSync, readSync, writeSync } from 'node:fs'

const HEAD = 24
const COUNT = 20
const FAILED = 16
const NAME_BYTES = 24
const CALL_BYTES = NAME_BYTES + 4
/** The size of the file. */
export const CONTROL_BYTES = HEAD + 64 * CALL_BYTES

export class Control {
  #fd
  /** @type {string[]} */
  #names = []

  /** @param {string} path the file that FAULTS names, with which the process was started */
  constructor(path) {
    this.#fd = openSync(path, 'r+')
    this.stop()
    const count = this.#number(COUNT)
    for (let call = 0; call < count; call++) {
      const name = Buffer.alloc(NAME_BYTES)
      readSync(this.#fd, name, 0, NAME_BYTES, HEAD + call * CALL_BYTES)
      this.#names.push(name.toString('latin1', 0, name.indexOf(0)))
    }
  }

  /** The calls that can fail. */
  get names() {
    return this.#names
  }

  /**
   * Makes a call fail from now on: not the first `skip` calls, but the next `most`.
   *
   * @param {string} call
   * @param {number} errno
   * @param {number} skip
   * @param {number} most
   */
  fail(call, errno, skip, most) {
    const index = this.#names.indexOf(call)
    if (index < 0) throw new Error(`there is no call '${call}'`)
    this.#write(4, errno, skip, most, 0)
    this.#write(0, index)
  }

  /** Ends the failing. Returns the number of calls that have failed. */
  stop() {
    this.#write(0, -1)
    return this.#number(FAILED)
  }

  /**
   * Returns how often the addon has made a call.
   *
   * @param {string} call
   */
  made(call) {
    return this.#number(HEAD + this.#names.indexOf(call) * CALL_BYTES + NAME_BYTES)
  }

  close() {
    closeSync(this.#fd)
  }

  /** @param {number} at */
  #number(at) {
    const bytes = Buffer.alloc(4)
    readSync(this.#fd, bytes, 0, 4, at)
    return bytes.readInt32LE()
  }

  /**
   * @param {number} at
   * @param {number[]} numbers
   */
  #write(at, ...numbers) {
    writeSync(this.#fd, Buffer.from(Int32Array.from(numbers).buffer), 0, 4 * numbers.length, at)
  }
}
