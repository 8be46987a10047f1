// A mirror at work: in this process, or as the command.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const HOME = join(import.meta.dirname, '../../..')
/** ms that a mirror that nobody asks for passes may take: it looks at everything after ten seconds. */
const PATIENCE = 15_000

const COMMAND = join(HOME, 'dist/cli.js')

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../../src/index.ts')} */
const library = await import(join(HOME, 'dist/index.js'))

/**
 * @typedef {object} Options
 * @property {number} interval
 * @property {number} quiet
 * @property {import('./expected.mjs').Limits} limits
 * @property {'link' | 'hold' | undefined} overLimit
 */

/** Callbacks for the states and errors of a mirror. @typedef {{ state(state: string, reason: string): void, error(error: Error): void }} Listener */

/** @param {import('./random.mjs').Choice} choice @param {boolean} isLinkable @returns {Options} */
export function optionsOf(choice, isLinkable) {
  return {
    interval: choice.of([5, 10, 20, 50]),
    quiet: choice.of([0, 1, 5, 5, 20]),
    limits: {
      files: choice.of([1024, 1024, 1024, 1024, 1024, 30, 10, 3, 0]),
      bytes: choice.of([16 << 20, 16 << 20, 16 << 20, 16 << 20, 400_000, 5000]),
    },
    overLimit: isLinkable ? choice.of([undefined, 'link', 'hold']) : 'hold',
  }
}

/** @param {Options} options */
export function inWords({ interval, quiet, limits, overLimit }) {
  return `interval ${interval}, quiet ${quiet}, ${limits.files} files, ${limits.bytes} bytes, ${overLimit ?? 'link or hold'}`
}

/** One in this process. */
export class LibrarySession {
  #mirror

  /** @param {import('../../../src/index.ts').Mirror} mirror */
  constructor(mirror) {
    this.#mirror = mirror
  }

  /**
   * Rejects as mirror() does.
   *
   * @param {string[]} sources
   * @param {string} target
   * @param {Options} options
   * @param {Listener} listener
   */
  static async start(sources, target, { overLimit, ...options }, listener) {
    const mirror = await library.mirror(sources, target, { ...options, ...(overLimit && { overLimit }) })
    mirror.on('state', listener.state)
    mirror.on('error', listener.error)
    return new LibrarySession(mirror)
  }

  get state() {
    return this.#mirror.state
  }

  get skipped() {
    return this.#mirror.skipped
  }

  async pass() {
    await this.#mirror.refresh()
  }

  /** @param {boolean} keep */
  async end(keep) {
    await this.#mirror.close({ keep })
  }
}

/** `inotify-bridge mirror`. */
export class CommandSession {
  #child
  #complaints
  #exited

  /** Resolves when it tells of its first pass, or has ended. @type {Promise<unknown>} */
  begun

  /** @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} child */
  constructor(child) {
    this.#child = child
    this.begun = Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    child.stdout.resume()
    this.#exited = once(child, 'exit')
    this.#complaints = text(child.stderr)
  }

  /** @param {string[]} sources @param {string} target @param {Options} options @param {string[]} flags */
  static start(sources, target, { interval, quiet, limits, overLimit }, flags = []) {
    const argv = [
      '--interval',
      interval,
      '--quiet',
      quiet,
      '--max-files',
      limits.files,
      '--max-bytes',
      limits.bytes,
    ]
    if (overLimit !== undefined) argv.push('--over-limit', overLimit)
    const child = spawn(
      process.execPath,
      [COMMAND, 'mirror', ...argv.map(String), ...flags, ...sources, target],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    return new CommandSession(child)
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Ends it, or waits for its end; its exit code and what it said. @param {NodeJS.Signals} [signal] */
  async end(signal) {
    if (signal !== undefined) this.#child.kill(signal)
    await this.#exited
    return { code: this.#child.exitCode, complaints: (await this.#complaints).trim() }
  }
}

/**
 * Returns the differences that stay: a mirror in this process has had as many passes as it needs.
 *
 * @param {LibrarySession | CommandSession} session
 * @param {Options} options
 * @param {() => import('./judge.mjs').Difference[]} look
 */
export async function awaitSameness(session, { quiet }, look) {
  // A file that was emptied must stay so for 50 times as long as others must hold still.
  const until = Date.now() + (session instanceof CommandSession ? PATIENCE : 50 * quiet + 1000)
  for (;;) {
    const found = look()
    const isDue = session instanceof LibrarySession && !found.every(({ waits }) => waits)
    if (found.length === 0 || isDue || Date.now() > until) return found
    if (session instanceof CommandSession && !session.isRunning) return found
    await sleep(3)
    if (session instanceof LibrarySession) await session.pass()
  }
}
