// The processes of a measurement: each subject and each writer is a child of its own that says what it has to say in
// JSON lines on stdout.
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

/** Longer than any measurement: a child that is still there then is stuck, and says so by being killed. */
const PATIENCE_MS = 60_000

/** One measurement's children: `end` leaves none of them behind. */
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
   * @param {string[]} before  What runs it: none, or a command line.
   * @param {string} program
   * @param {(string | number)[]} args
   */
  startUnder(before, program, ...args) {
    const [command = program, ...rest] = [...before, program]
    return this.#start(command, [...rest, ...args])
  }

  /**
   * A program that is no part of node (watchers/outside.mjs); undefined: no such watcher is one.
   * @param {string} watcher
   * @param {'until-last' | 'tree' | 'blocked' | 'latency'} mode
   * @param {(string | number)[]} args
   */
  startOutside(watcher, mode, ...args) {
    const program = this.#outside.get(watcher)
    return program === undefined ? undefined : this.#start(program, [mode, ...args])
  }

  /**
   * Whoever counts until the last, by its name: a yardstick, a program, or node.
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
   * @param {(string | number)[]} args  The directory to watch, and what the question's answer() wants.
   */
  startSubject(question, watcher, ...args) {
    return this.startNode('subject.mjs', question, watcher, ...args)
  }

  /**
   * @param {string} script  By its path from here.
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
    // Before the scratch directories go: a writer would go on writing there.
    process.prependOnceListener('exit', this.#kill)
    this.#child.once('exit', () => process.off('exit', this.#kill))
    this.ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
  }

  get pid() {
    if (this.#child.pid === undefined) throw new Error(`${this.#command}: could not be started`)
    return this.#child.pid
  }

  /** The next line it says, parsed. */
  async next() {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error(`${this.#command}: ended before it had said everything`)
    return JSON.parse(value)
  }

  /** Sends what a writer waits for on stdin. */
  go() {
    this.#child.stdin.end('g')
  }

  kill() {
    this.#child.kill('SIGKILL')
  }
}

/**
 * Makes files named "last-..." until `answer` is there. One is not enough: a queue that has overflowed drops it.
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
