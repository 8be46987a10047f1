// Plays a round: sources change, a mirror of them comes and goes, others do what they like to its target, and now and then all is quiet.
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { Expectations } from './expectations.mjs'
import { differences, leftovers } from './judge.mjs'
import { Others } from './others.mjs'
import { Choice } from './random.mjs'
import { Room } from './room.mjs'
import { awaitSameness, CommandSession, inWords, LibrarySession, optionsOf } from './session.mjs'
import { Source } from './source.mjs'

/** A disk that others write to as well may not answer for seconds. What has come of that is judged at the next quiet moment. */
const STALLED = /it has not answered for/

/** @typedef {import('./rounds.mjs').Round} Round */
/** @typedef {import('./session.mjs').Options} Options */
/** @typedef {import('./judge.mjs').Possible} Possible */

/** @typedef {import('./stage.mjs').Stage} Stage */

/** @typedef {{ wrong: string[], journal: string[], reads: number, quiets: number, starts: number }} Played */

let serial = 0

/** @param {Round} round @param {Stage} stage @returns {Promise<Played>} */
export async function play(round, stage) {
  const game = new Game(round, stage)
  try {
    await game.play()
  } catch (error) {
    // mirror() that rejects, for one.
    game.wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    await game.end()
  }
  return game
}

class Game {
  /** @type {string[]} */
  wrong = []
  /** @type {string[]} */
  journal = []
  reads = 0
  quiets = 0
  starts = 0
  #round
  #stage
  #pace
  #home
  #target
  #others
  #sources
  #version = 0
  /** @type {LibrarySession | CommandSession | undefined} */
  #session
  /** @type {Options} */
  #options = { interval: 5, quiet: 0, limits: { files: 0, bytes: 0 }, overLimit: undefined }
  /** The expectations of the last mirror. @type {Expectations | undefined} */
  #expected
  #isWatching = false
  /** Since the last quiet moment. */
  #wasAttacked = false
  #room

  /** @param {Round} round @param {Stage} stage */
  constructor(round, stage) {
    this.#round = round
    this.#stage = stage
    this.#pace = new Choice(round.seed)
    this.#home = `round-${serial++}`
    const targets = stage.targets[round.target]
    if (targets === undefined) throw new Error(`no targets on ${round.target}`)
    this.#target = join(targets, this.#home, 'target')
    this.#room = new Room(round.target === 'small' ? targets : undefined)
    fs.mkdirSync(join(targets, this.#home))
    this.#others = new Others(this.#target, this.#isSole)
    const [back, front] = [stage.back, stage.front].map((path) => join(path, this.#home))
    if (back === undefined || front === undefined) throw new Error('no stage')
    fs.mkdirSync(join(back, 'aside'), { recursive: true })
    this.#sources = round.layouts.map((layout, index) => {
      const name = layout === 'file' ? `file${index}` : `source${index}`
      const [path, shown] = [join(back, name), join(front, name)]
      const version = () => ++this.#version
      const changed = (/** @type {string} */ what) => this.#changed(what)
      return new Source(layout, { index, path, shown, aside: join(back, 'aside'), version, changed })
    })
  }

  get #isSole() {
    const [first] = this.#round.layouts
    return first === 'file' && this.#round.layouts.length === 1
  }

  async play() {
    const choice = new Choice(this.#round.seed)
    for (const source of this.#sources) await source.make(choice)
    await this.#start(choice, 'library')
    await this.#quiet(choice)
    for (const [what, index, seed] of this.#round.steps) {
      if (this.wrong.length > 0) return
      await this.#step(what, index, new Choice(seed))
    }
    if (this.wrong.length > 0) return
    if (this.#session === undefined) await this.#start(choice, 'library')
    await this.#quiet(choice)
    if (this.wrong.length === 0) await this.#stop(choice, 'close')
  }

  async end() {
    this.#room.widen()
    if (this.#isWatching) await this.#stage.watching.end()
    await this.#finish(this.#session, false)
    const { back, targets } = this.#stage
    for (const home of [back, targets[this.#round.target] ?? back])
      fs.rmSync(join(home, this.#home), { recursive: true, force: true })
  }

  /** @param {string} what @param {number} index @param {Choice} choice */
  async #step(what, index, choice) {
    const source = this.#sources[index % this.#sources.length]
    if (source === undefined) return
    if (what === 'quiet') {
      await this.#quiet(choice)
      if (this.#room.isVariable) await this.#cramp(source, choice)
      return
    }
    if (what === 'start') return await this.#restart(choice)
    if (what === 'stop') return await this.#stop(choice)
    if (what === 'theirs') return this.#addTheirs(choice)
    if (what.startsWith('attack')) return this.#attack(what, choice)
    if (what !== 'twice') return await this.#change(source, what, choice)
    // Within a second: of some file systems the second does not show in what stat(2) says.
    for (let n = 0; n < 2; n++) {
      await this.#change(source, 'rewrite', choice)
      await this.#quiet(choice)
    }
  }

  /** @param {Source} source @param {string} what @param {Choice} choice */
  async #change(source, what, choice) {
    const { quiet, overLimit } = this.#options
    await source.change(what, choice, {
      // A writer that is held up between truncating and writing, by others who want the processor too, is not to count as one that is done.
      inPlace: quiet >= 5 || this.#session === undefined,
      empty: quiet <= 5,
      leaveBehind: overLimit !== 'hold',
    })
  }

  /** @param {string} what */
  async #changed(what) {
    this.journal.push(what)
    this.#consider()
    const pause = this.#pace.below(8)
    if (pause === 0) await sleep(this.#pace.below(12))
    else if (pause < 4) await turn()
  }

  #consider() {
    const expected = this.#expected
    if (this.#session === undefined || expected === undefined) return
    expected.note()
    if (expected.hasLostLinks) this.#stage.watching.distrustLinks()
    if (this.#isWatching) this.#stage.watching.allow(expected.possible)
  }

  /** There is no room for what comes next. @param {Source} source @param {Choice} choice */
  async #cramp(source, choice) {
    this.#note(this.#room.change(choice))
    for (const what of choice.some(['rotate', 'volume', 'worktree', 'flat', 'swap'], 50)) {
      await this.#change(source, what, choice)
      if (this.#session instanceof LibrarySession) await this.#session.pass()
    }
    await this.#quiet(choice)
  }

  /** @param {string} what '' if nothing */
  #note(what) {
    if (what !== '') this.journal.push(what)
  }

  /**
   * Nothing changes, and what the sources have does not fit into the target: that is said, and readers go on as if nothing had changed.
   *
   * @param {LibrarySession} session @param {readonly Possible[]} possible @param {Choice} choice
   * @returns {Promise<boolean>} whether it stays so
   */
  async #isCramped(session, possible, choice) {
    for (let passes = choice.of([1, 3]); passes > 0; passes--) await session.pass()
    const wrong = this.#differences(possible).filter(({ waits }) => !waits)
    if (possible.length === 0 || wrong.length === 0) return false
    this.journal.push(`it does not fit: ${wrong.length} paths are not as they should be`)
    if (!this.#room.isSaid)
      this.wrong.push('nothing is said of a full target', ...wrong.slice(0, 8).map(({ what }) => what))
    return choice.isLikely(50)
  }

  /** Nothing changes: the target shows what the sources have. @param {Choice} choice */
  async #quiet(choice) {
    const [session, expected] = [this.#session, this.#expected]
    if (session === undefined || expected === undefined) return
    this.journal.push('quiet')
    // The last good version of what is lost or held is nowhere else: nobody can bring it back.
    const isUnknown = (this.#others.haveDisturbed || this.#room.wasScarce) && !expected.isComplete
    const possible = isUnknown ? [] : expected.possible
    if (this.#room.isScarce && session instanceof LibrarySession)
      if (await this.#isCramped(session, possible, choice)) return
    this.#note(this.#room.widen())
    if (session instanceof LibrarySession) await session.pass()
    if (possible.length > 0) {
      this.quiets++
      await this.#compare(session, expected, possible)
    }
    this.wrong.push(...this.#others.judge())
    await this.#endWatching()
    // The command looks in its own time: what it has seen shows in the target.
    if (session instanceof LibrarySession || possible.length > 0) expected.settle()
    if (possible.length > 0 && expected.isComplete) {
      this.#others.clearUp(possible)
      this.#room.settle()
    }
    this.#wasAttacked = false
    if (this.wrong.length > 0 || possible.length === 0) return
    const isReadable = (/** @type {string} */ name) => this.#others.haveSpared(name)
    await this.#stage.watching.begin(this.#target, possible, isReadable, choice)
    this.#isWatching = true
    this.#consider()
  }

  /** @param {LibrarySession | CommandSession} session @param {Expectations} expected @param {readonly Possible[]} possible */
  async #compare(session, expected, possible) {
    const wrong = await awaitSameness(session, this.#options, () => this.#differences(possible))
    this.wrong.push(...wrong.slice(0, 8).map(({ what }) => what))
    if (session instanceof CommandSession) {
      if (!session.isRunning) this.wrong.push('the command has ended')
      return
    }
    if (session.state !== expected.state)
      this.wrong.push(`the state is ${session.state}; it should be ${expected.state}`)
    if (wrong.length === 0) return
    for (let n = 0; n < 2; n++) await session.pass()
    const after = this.#differences(possible).length
    this.wrong.push(`two passes later ${after === 0 ? 'it is right' : `${after} paths are wrong`}`)
  }

  /** @param {readonly Possible[]} possible */
  #differences(possible) {
    const all = differences(this.#target, possible, this.#isSole)
    return all.filter(({ path }) => !this.#others.isExempt(path, possible))
  }

  async #endWatching() {
    if (!this.#isWatching) return
    this.#isWatching = false
    const { wrong, reads } = await this.#stage.watching.end()
    this.wrong.push(...wrong.slice(0, 8))
    this.reads += reads
  }

  /** @param {Choice} choice */
  async #restart(choice) {
    if (this.#session !== undefined) await this.#stop(choice)
    if (choice.isLikely(30)) await this.#once(choice)
    if (choice.isLikely(20)) await this.#startAndKill(choice)
    await this.#start(choice, choice.isLikely(50) ? 'command' : 'library')
  }

  /** Chooses the sources and the options of the next mirror. @param {Choice} choice */
  async #choose(choice) {
    this.#note(this.#room.widen())
    const some = this.#isSole ? this.#sources : choice.some(this.#sources, 75)
    // A file alone would have another target than a file beside others.
    const isFileAlone = some.every(({ isFile }) => isFile) && !this.#isSole
    const sources = isFileAlone ? this.#sources : some
    for (const source of sources) if (!source.isThere) await source.back(choice)
    this.#options = optionsOf(choice, this.#stage.isLinkable)
    const expected = new Expectations(sources, this.#options, this.#isSole)
    this.#expected = expected
    return { expected, paths: expected.sources.map((source) => source.shown) }
  }

  /** @param {string} how @param {Expectations} expected */
  #tellStart(how, { sources }) {
    this.journal.push(`${how} of ${sources.map(({ index }) => index)}: ${inWords(this.#options)}`)
    this.starts++
  }

  /** @param {Choice} choice @param {'library' | 'command'} how */
  async #start(choice, how) {
    const { expected, paths } = await this.#choose(choice)
    this.#tellStart(`start ${how}`, expected)
    if (how === 'command') {
      const session = CommandSession.start(paths, this.#path, this.#options)
      this.#session = session
      await session.begun
    } else {
      this.#session = await LibrarySession.start(paths, this.#path, this.#options, {
        state: (state, reason) => {
          if (state === 'source-lost' && !expected.wasLost && !STALLED.test(reason))
            this.wrong.push(`told to be lost: ${reason}`)
        },
        error: (error) => {
          const code = 'code' in error && error.code
          const isConflict = code === 'EEXIST' && expected.hadConflict
          // Said after some passes, which may be behind the quiet moment. What never fitted is missing as well.
          const isMissing = code === 'ENODATA' && (this.#others.haveDisturbed || this.#room.wasScarce)
          const isFull = this.#room.hears(code)
          const isStalled = STALLED.test(error.message)
          if (!isConflict && !isMissing && !isFull && !isStalled && !this.#wasAttacked)
            this.wrong.push(`'error': ${error.message}`)
        },
      })
    }
    this.#consider()
  }

  /** A run to its end, after which the target is compared as well. @param {Choice} choice */
  async #once(choice) {
    const { expected, paths } = await this.#choose(choice)
    this.#tellStart('--once', expected)
    const { isComplete, state } = expected
    const possible = isComplete ? expected.possible : []
    if (this.#isWatching) this.#stage.watching.allow(possible)
    const { code, complaints } = await CommandSession.start(paths, this.#path, this.#options, [
      '--once',
    ]).end()
    // Without a mode, links that an earlier run has made may stay, though something is skipped by now.
    if (!isComplete && this.#options.overLimit === undefined) return
    if (!isComplete && code === 0)
      this.wrong.push('--once has ended with 0, though a source has no version to show')
    if (!isComplete) return
    // Links make no events.
    const due = state === 'over-limit' ? 1 : 0
    if (code !== due) this.wrong.push(`--once has ended with ${code}, and not ${due}: ${complaints}`)
    this.wrong.push(
      ...this.#differences(possible)
        .slice(0, 8)
        .map(({ what }) => `after --once ${what}`),
    )
  }

  /** One that is killed at any moment of its start. @param {Choice} choice */
  async #startAndKill(choice) {
    const { expected, paths } = await this.#choose(choice)
    if (this.#isWatching) this.#stage.watching.allow(expected.possible)
    const session = CommandSession.start(paths, this.#path, this.#options)
    const ms = 150 + choice.below(150)
    await sleep(ms)
    await session.end('SIGKILL')
    this.#tellStart(`killed after ${ms} ms: one`, expected)
  }

  get #path() {
    return this.#isSole ? join(this.#target, 'sole') : this.#target
  }

  /** @param {Choice} choice @param {'close' | 'keep'} [how] */
  async #stop(choice, how = choice.isLikely(25) ? 'close' : 'keep') {
    const session = this.#session
    if (session === undefined) return
    this.#session = undefined
    // No mirror runs.
    this.#stage.watching.distrustLinks()
    if (session instanceof CommandSession) {
      if (!session.isRunning) this.wrong.push('the command has ended by itself')
      const signal = choice.of(/** @type {const} */ (['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGINT']))
      this.journal.push(signal)
      const { complaints } = await session.end(signal)
      if (this.wrong.length > 0) this.wrong.push(complaints)
      return
    }
    this.journal.push(how)
    if (how === 'close') this.#stage.watching.exempt()
    await session.end(how === 'keep')
    if (how === 'keep') return
    const left = leftovers(this.#target).filter((name) => !this.#others.isExempt(name, []))
    if (left.length > 0)
      this.wrong.push(`close() has left ${left.map((name) => JSON.stringify(name)).join(' ')}`)
  }

  /** @param {LibrarySession | CommandSession | undefined} session @param {boolean} keep */
  async #finish(session, keep) {
    if (session instanceof CommandSession) await session.end('SIGKILL')
    else await session?.end(keep).catch(() => {})
  }

  /** @param {Choice} choice */
  #addTheirs(choice) {
    if (this.#room.isScarce || !fs.existsSync(this.#target)) return
    const name = this.#others.write(choice, ++this.#version)
    this.journal.push(`somebody writes ${name} in the target`)
  }

  /** @param {string} what @param {Choice} choice */
  #attack(what, choice) {
    // The command looks at its target in its own time.
    if (this.#session instanceof CommandSession || this.#room.isScarce || !fs.existsSync(this.#target)) return
    const isSpared = this.#session === undefined || this.#isSole
    const attack = this.#others.attack(what, this.#expected?.possible[0], isSpared, choice)
    if (attack === undefined) return
    this.#stage.watching.exempt(attack.names)
    this.#wasAttacked = true
    this.journal.push(`somebody attacks the target: ${attack.done}`)
  }
}
