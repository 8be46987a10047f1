// The processes of a measurement: each subject and each writer is a child process that answers in JSON lines
// on stdout.
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

/** Longer than any measurement: a child that still runs then is stuck, and is killed. */
const PATIENCE_MS = 60_000

/** The children of one measurement. end() kills all of them. */
export class Children {
  /** @type {Child[]} */
  #children = []
  #programs
  #outside

  /**
   * @param {import('./scratch.mjs').Scratch} scratch
   * @param {import('./watchers/outside.mjs').Peers} peers
   */
  constructor({ programs }, peers) {
    this.#programs = programs
    this.#outside = peers.programs
  }

  /** @param {(string | number)[]} args */
  startWriter(...args) {
    return this.#start(this.#programs.writer, args)
  }

  /** @param {(string | number)[]} args */
  startRawReader(...args) {
    return this.#start(this.#programs.rawReader, args)
  }

  /** @param {(string | number)[]} args */
  startRawWalk(...args) {
    return this.#start(this.#programs.rawWalk, args)
  }

  /** @param {(string | number)[]} args */
  startRawPoll(...args) {
    return this.#start(this.#programs.rawPoll, args)
  }

  /**
   * @param {string[]} before  The command line that runs the program, or none.
   * @param {string} program
   * @param {(string | number)[]} args
   */
  startUnder(before, program, ...args) {
    const [command = program, ...rest] = [...before, program]
    return this.#start(command, [...rest, ...args])
  }

  /**
   * Starts a program that is not part of node (watchers/outside.mjs). Returns undefined if the watcher is
   * none.
   * @param {string} watcher
   * @param {'until-last' | 'tree' | 'blocked' | 'latency'} mode
   * @param {(string | number)[]} args
   */
  startOutside(watcher, mode, ...args) {
    const program = this.#outside.get(watcher)
    return program === undefined ? undefined : this.#start(program, [mode, ...args])
  }

  /**
   * Starts a watcher that counts events until the last one, by name: a yardstick, a program, or node.
   * @param {string} watcher
   * @param {string} directory
   */
  startCounting(watcher, directory) {
    if (watcher === 'raw C') return this.startRawReader('until-last', directory, 0)
    if (watcher === 'raw C + window') return this.startRawReader('until-last', directory, 1)
    return (
      this.startOutside(watcher, 'until-last', directory) ??
      this.startSubject('events/storm', watcher, directory)
    )
  }

  /**
   * Runs subject.mjs: the question's answer() with one of the ways to watch.
   * @param {string} question
   * @param {string} watcher
   * @param {(string | number)[]} args  The directory to watch, and the arguments of the question's answer().
   */
  startSubject(question, watcher, ...args) {
    return this.startNode('subject.mjs', question, watcher, ...args)
  }

  /**
   * @param {string} script  The path from this file's directory.
   * @param {(string | number)[]} args
   */
  startNode(script, ...args) {
    return this.#start(process.execPath, [join(import.meta.dirname, script), ...args])
  }

  end() {
    for (const child of this.#children) child.kill()
  }

  /**
   * @param {string} command
   * @param {(string | number)[]} args
   */
  #start(command, args) {
    const child = new Child(command, args)
    this.#children.push(child)
    return child
  }
}

class Child {
  #child
  #lines
  #command
  #kill = () => this.kill()
  /** @type {Promise<void>} */
  ended

  /**
   * @param {string} command
   * @param {(string | number)[]} args
   */
  constructor(command, args) {
    this.#command = [command, ...args].join(' ')
    this.#child = spawn(command, args.map(String), {
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
    // The child is killed before the scratch directories are removed: a writer would go on writing there.
    process.prependOnceListener('exit', this.#kill)
    this.#child.once('exit', () => process.off('exit', this.#kill))
    this.ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
  }

  get pid() {
    if (this.#child.pid === undefined) throw new Error(`${this.#command}: could not be started`)
    return this.#child.pid
  }

  /** Returns the next line of the child, parsed. */
  async next() {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error(`${this.#command}: ended before it had said everything`)
    return JSON.parse(value)
  }

  /** Sends the byte that a writer waits for on stdin. */
  go() {
    this.#child.stdin.end('g')
  }

  kill() {
    this.#child.kill('SIGKILL')
  }
}

/**
 * Makes files named "last-..." until `answer` is there. One file is not enough, because a queue that has
 * overflowed drops its event.
 * @template Answer
 * @param {string} directory
 * @param {Promise<Answer>} answer
 * @returns {Promise<Answer>}
 */
export async function untilItSawTheLast(directory, answer) {
  let answered = false
  const settled = answer.finally(() => {
    answered = true
  })
  for (let i = 0; !answered; i++) {
    const last = join(directory, `last-${i}`)
    writeFileSync(last, '')
    await Promise.race([settled, setTimeout(50)])
    rmSync(last)
  }
  return settled
}
