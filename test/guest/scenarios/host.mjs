// A scenario's access to the machine around it: its directory on a mount, and the maker of changes behind
// that mount. The host makes them, when asked by the second serial port, or this process.
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ReadStream, WriteStream } from 'node:tty'
import { CHANGES } from '../behind.mjs'
import { MEMORY, mounted } from './mounted.mjs'

const [, , directory = ''] = process.argv

/** The host's name for this run. */
export const name = basename(directory)

/** @type {any} what the test has given to this scenario */
export const parameters = JSON.parse(readFileSync(`${directory}.parameters`, 'utf8'))

/**
 * Returns a directory of this run on the guest's tmpfs.
 *
 * @param {string} entry
 */
export function memory(entry) {
  const path = join(MEMORY, name, entry)
  mkdirSync(path, { recursive: true })
  return path
}

/** The mount that the test asked for. */
const { front, behind } = mounted(parameters, directory, name)

/**
 * The directory of this run, as the library sees it: on the share, or on the mount that the test has named.
 */
export const share = front

/** The library, as it was built. @type {typeof import('../../../src/index.ts')} */
export const library = await import(join(import.meta.dirname, '../../../dist/index.js'))

/** Hands the result to the test and ends. @param {unknown} result */
export function report(result) {
  writeFileSync(`${directory}.result`, JSON.stringify(result))
  process.exit()
}

/**
 * A tty's streams are polled (epoll). A file's streams would block a thread of libuv's pool, and some
 * scenarios test that pool.
 */
const port = openSync('/dev/ttyS1', 'r+')
const output = new WriteStream(port)
const input = new ReadStream(port)
input.setEncoding('utf8')
input.unref()

/** @typedef {{ began: number, ended: number, [name: string]: any }} Answer the times are on the clock of who made the change */

let requests = 0
let rest = ''
/** @type {Map<number, (answer: any) => void>} */
const waiting = new Map()
input.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) {
    const answer = JSON.parse(line)
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  }
})

/**
 * Makes a change behind the mount, see behind.mjs and host_changes.ts; `path` is relative to this run's
 * directory.
 *
 * @param {string} operation
 * @param {{ path?: string, [parameter: string]: unknown }} [parameters]
 * @returns {Promise<Answer>}
 */
export function ask(operation, parameters = {}) {
  return behind === undefined ? askHost(operation, parameters) : act(behind, operation, parameters)
}

/**
 * @param {string} directory
 * @param {string} operation
 * @param {{ path?: string, [parameter: string]: unknown }} parameters
 * @returns {Promise<Answer>}
 */
async function act(directory, operation, parameters) {
  const change = CHANGES[operation]
  if (change === undefined) throw new Error(`no such operation: ${operation}`)
  const began = now()
  const path = join(directory, parameters.path ?? '')
  const said = await change(
    /** @type {any} what the operation needs is the scenario's to give */ ({ ...parameters, path }),
  )
  return { ...Object(said), began, ended: now() }
}

/**
 * @param {string} operation
 * @param {{ path?: string, [parameter: string]: unknown }} parameters
 * @returns {Promise<Answer>}
 */
async function askHost(operation, parameters) {
  const id = ++requests
  const answered = new Promise((resolve) => waiting.set(id, resolve))
  input.ref()
  output.write(
    `${JSON.stringify({ ...parameters, path: join(name, parameters.path ?? ''), id, operation })}\n`,
  )
  const answer = await answered
  if (waiting.size === 0) input.unref()
  if (answer.error !== undefined) throw new Error(`the host: ${answer.error}`)
  return answer
}

/**
 * Returns the part of the interval after which the n-th change comes: the changes meet all parts in turn.
 * Changes right after an event would all meet the same instant, and random times might meet the same part.
 *
 * @param {number} n
 */
export const phase = (n) => (n * 0.618034) % 1

/** Returns the ms on this guest's clock. */
export const now = () => performance.timeOrigin + performance.now()

/**
 * Returns the host's time less this guest's, from the fastest of some pings, with half of the round trip as
 * the error. The arrival of an answer would be a simpler time of its change. But answers and events come
 * through one loop: an event that was there first would seem to have come early, and a busy loop would hide
 * its own delay.
 */
export async function clockOffset() {
  let best = { offset: 0, error: Infinity }
  for (let n = 0; n < 20; n++) {
    const asked = now()
    const { began, ended } = await ask('ping')
    const answered = now()
    const error = (answered - asked - (ended - began)) / 2
    if (error < best.error) best = { offset: (began + ended) / 2 - (asked + answered) / 2, error }
  }
  return best
}
