// What a scenario has of the machine around it: the host, by the second serial port, and its directory on the share.
import { spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ReadStream, WriteStream } from 'node:tty'

const [, , directory = ''] = process.argv

/** This run's name for the host. */
export const name = basename(directory)

/** @type {any} what the test has given to this scenario */
export const parameters = JSON.parse(readFileSync(`${directory}.parameters`, 'utf8'))

/** A directory of this run's on the guest's tmpfs. @param {string} entry */
export function memory(entry) {
  const path = join('/mnt/memory', name, entry)
  mkdirSync(path, { recursive: true })
  return path
}

/** This run's own directory on the share, by virtiofs or by the mount that the test has named. */
export const share = parameters.mount === undefined ? directory : join(mountShare(parameters.mount), name)

/**
 * Once for all scenarios: a device of 9p serves one mount.
 *
 * @param {{ type: string, source: string, options: string }} mount
 */
function mountShare({ type, source, options }) {
  const point = '/mnt/memory/front'
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${point} `)) return point
  mkdirSync(point)
  const { status, stderr } = spawnSync('mount', ['-t', type, '-o', options, source, point])
  if (status !== 0) throw new Error(`mount: ${stderr}`)
  return point
}

/** The library, as it was built. @type {typeof import('../../../src/index.ts')} */
export const library = await import(join(import.meta.dirname, '../../../dist/index.js'))

/** Hands the result to the test and ends. @param {unknown} result */
export function report(result) {
  writeFileSync(`${directory}.result`, JSON.stringify(result))
  process.exit()
}

/** A tty's streams are polled (epoll); a file's would block a thread of libuv's pool, which is what some scenarios are about. */
const port = openSync('/dev/ttyS1', 'r+')
const output = new WriteStream(port)
const input = new ReadStream(port)
input.setEncoding('utf8')
input.unref()

/** @typedef {{ began: number, ended: number, [name: string]: any }} Answer the times are the host's */

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
 * Has the host do something, see host_changes.ts; `path` is relative to this run's directory.
 *
 * @param {string} operation
 * @param {{ path?: string, [parameter: string]: unknown }} [parameters]
 * @returns {Promise<Answer>}
 */
export async function ask(operation, parameters = {}) {
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
 * When in the interval the n-th change comes: all of it in turn. Right after an event all would meet the same instant, and
 * by chance a few might meet the same part.
 *
 * @param {number} n
 */
export const phase = (n) => (n * 0.618034) % 1

/** ms on this guest's clock. */
export const now = () => performance.timeOrigin + performance.now()

/**
 * The host's time less this guest's, from the fastest of some pings, with half of its round trip as the error. Taking an
 * answer's arrival for the time of its change would be simpler, but answers and events come through one loop: an event that
 * was there first would seem to have come early, and a busy loop would hide its own delay.
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
