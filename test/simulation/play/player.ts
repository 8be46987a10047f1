import type { Change } from '../../../src/index.ts'
import { provideEngine } from '../../../src/watch/engine_part.ts'
import { openEngine } from '../../../src/watch/open_engine.ts'
import { lookNow, Watcher } from '../../../src/watch/watcher.ts'
import { World } from '../world/world.ts'
import { inWords, Judge } from './judge.ts'
import { callsOf, type Operation } from './operation.ts'
import { ERRORS, NESTED, ROOT, type Scenario, type Settings, SIBLING, TREES } from './scenario.ts'
import { runAll, Writer } from './writer.ts'

// A simulated world moves in microtasks alone, and an import takes more than microtasks.
provideEngine(openEngine)

const MOST_STEPS = 20_000
// More steps than any walk takes.
const ALL_STEPS = 1000
const READY = 'ready'

/** The watcher could not open its root at the start, which ends the scenario. */
class NotBegun extends Error {}

/** The result of a played scenario. */
export interface Outcome {
  /** The faults; empty if there are none. */
  wrong: string[]
  /** The number of steps with a choice, up to the first sync(). */
  steps: number
  /** The actors that could go on at each step, in the order of the choices. */
  options: Array<readonly string[]>
  /** The steps of all actors, and the changes told. Empty unless the caller asked for a story. */
  story: Array<{ who: string; what: string }>
}

interface Actor {
  who: string
  canStep(): boolean
  step(): string
}

/** The real engine on a world of its own, in which everything happens when the schedule says so. */
export class Player {
  readonly #scenario: Scenario
  readonly #world: World
  readonly #actors: Actor[]
  readonly #outcome: Outcome = { wrong: [], steps: 0, options: [], story: [] }
  readonly #isTold: boolean
  #writers: readonly Writer[] = []
  #regroup: () => Promise<void> | undefined = () => undefined
  #sync: () => Promise<void> = async () => {}
  // The calls of the user that were made while the writer was at work.
  readonly #asked: Array<{ what: string; done: Promise<void> }> = []
  #last = 'writer'
  #judge: Judge | undefined
  #hasEnded = false

  /** @param isTold the outcome gets a story */
  constructor(scenario: Scenario, isTold = false) {
    this.#scenario = scenario
    this.#isTold = isTold
    const { settings } = scenario
    const { fails, failsBy, failsAfter, failsOneIn } = settings
    const failing = { error: ERRORS[failsBy], count: fails, after: failsAfter, oneIn: failsOneIn }
    const world = new World({ ...settings, watches: settings.watches || Number.POSITIVE_INFINITY, failing })
    this.#world = world
    for (const operation of TREES[scenario.tree]) this.#perform(operation)
    const walkers = ['walker', 'poller'].flatMap((who, i): Actor[] => [
      {
        who: `${who}'s records`,
        canStep: () => world.walkers[i]?.canHandOver ?? false,
        step: () => world.walkers[i]?.handOver() ?? '',
      },
      {
        who,
        canStep: () => world.walkers[i]?.canStep ?? false,
        step: () => world.walkers[i]?.step() ?? '',
      },
    ])
    this.#actors = [
      ...walkers,
      { who: 'calls', canStep: () => world.calls.length > 0, step: () => this.#answer() },
      { who: 'events', canStep: () => world.inotify?.isReadable ?? false, step: () => this.#read() },
      ...['writer', 'other writer'].map((who, i) => ({
        who,
        canStep: () => this.#writers[i]?.canStep ?? false,
        step: () => this.#writers[i]?.step() ?? '',
      })),
      { who: 'timer', canStep: () => Number.isFinite(world.clock.wait), step: () => this.#fire() },
    ]
  }

  play(): Outcome {
    const { settings, operations } = this.#scenario
    const { followSymlinks, ignored, ignoredLater, expand, settle, start, ahead, nesting, isPatient } =
      settings
    const depth = settings.depth || Number.POSITIVE_INFINITY
    const ignore = ignored === '' ? [] : [`**/${ignored}`]
    // With `initial`, an added root emits its entries.
    const initial = nesting === 'outer added' || start === 'amid'
    const watched = { recursive: true, depth, expand, followSymlinks, ignore, initial }
    const options = { ...watched, backend: 'auto', ...(settle !== 'save' && { settle }) } as const
    const watcher = new Watcher(rootsOf(settings), options, this.#world)
    const steps = start === 'now' ? ALL_STEPS : ahead
    if (steps > 0) lookNow(watcher, rootsOf(settings), steps)
    this.#regroup = () => {
      if (ignoredLater !== '') return watcher.setIgnore([`**/${ignoredLater}`])
      if (nesting === 'outer added') return this.#untilAdded(watcher)
      if (nesting === 'outer removed') return watcher.remove(ROOT)
      return nesting === 'inner removed' ? watcher.remove(NESTED) : undefined
    }
    this.#sync = () => watcher.sync()
    watcher.on('error', (error) => this.#onError(error))
    // A start that fails ends the watcher, which then shows no entries.
    watcher.ready.catch(() => {
      this.#hasEnded = true
    })
    watcher.on('changes', (changes) => this.#onChanges(changes))
    try {
      if (start === 'before' || start === 'settled') {
        this.#until(watcher.ready, READY, false)
        if (start === 'settled') this.#until(watcher.sync(), 'the first sync()', false)
        this.#untilQuiet(false)
      }
      // A server that fails cannot tell if a root is there.
      const isServers = settings.fails > 0 && (settings.failsBy === 'EIO' || settings.failsBy === 'ESTALE')
      const moves = (operation: Operation) =>
        operation.path === ROOT || ('other' in operation && operation.other === ROOT)
      const rootStays = !isServers && !operations.some(moves)
      this.#judge = new Judge(this.#world.tree, settings, rootStays, () => watcher.entries())
      this.#world.failures.begin()
      this.#last = 'writer'
      this.#writers = this.#writersOf(operations)
      this.#until(watcher.ready, READY, true)
      if (isPatient) this.#untilQuiet(true)
      else while (this.#writers.some(({ isDone }) => !isDone)) this.#step(true)
      for (const { what, done } of this.#asked) this.#until(done, what, true)
      // Failing opens are told as errors, and the watcher promises nothing else until they are over.
      const { isOver } = this.#world.failures
      this.#until(watcher.sync(), 'sync()', true)
      if (isOver) this.#outcome.wrong.push(...this.#judge.judge())
      this.#world.failures.end()
      this.#untilQuiet(false)
      this.#until(watcher.sync(), 'the second sync()', false)
      this.#outcome.wrong.push(...this.#judge.judge().map((each) => `after the second sync(): ${each}`))
    } catch (error) {
      if (!(error instanceof NotBegun)) this.#outcome.wrong.push(String(error))
    }
    this.#writers = []
    let isClosed = false
    watcher.close().then(() => {
      isClosed = true
    })
    for (let i = 0; !isClosed && i < MOST_STEPS; i++) {
      drain()
      if (!isClosed) this.#step(false, 'timer')
    }
    return this.#outcome
  }

  /** Adds the root, and tries again for as long as the provoked errors last, as a user would. */
  async #untilAdded(watcher: Watcher): Promise<void> {
    try {
      await watcher.add(ROOT)
    } catch (error) {
      if (!this.#isProvoked(error)) throw error
      await this.#untilAdded(watcher)
    }
  }

  #until(done: Promise<void>, what: string, isChosen: boolean): void {
    let result: { error?: unknown } | undefined
    done.then(
      () => {
        result = {}
      },
      (error) => {
        result = { error }
      },
    )
    drain()
    for (let i = 0; result === undefined; i++) {
      if (i > MOST_STEPS) throw new Error(`${what} does not end`)
      if (!this.#step(isChosen)) throw new Error(`${what} waits for nothing`)
    }
    if (!('error' in result)) return
    const isProvoked = this.#isProvoked(result.error)
    if (isProvoked && what === READY) throw new NotBegun()
    if (!isProvoked) throw new Error(`${what} rejects: ${result.error}`)
  }

  /** Steps until only timers are left. */
  #untilQuiet(isChosen: boolean): void {
    drain()
    for (let i = 0; this.#step(isChosen, 'timer'); i++)
      if (i > MOST_STEPS) throw new Error('it does not become quiet')
  }

  /** Makes one step of one actor. Returns false if no actor can go on. */
  #step(isChosen: boolean, unless = ''): boolean {
    let able = this.#actors.filter((each) => each.who !== unless && each.canStep())
    // Time goes by as steps are made. Timers fire early only when no other actor can go on.
    if (able.length > 1 && this.#world.clock.wait > 0) able = able.filter(({ who }) => who !== 'timer')
    const [first] = able
    if (first === undefined) return false
    const usual = able.find(({ who }) => who === this.#last) ?? first
    const { choices, settings } = this.#scenario
    let actor = usual
    if (isChosen) {
      const options = [usual, ...able.filter((each) => each !== usual)]
      this.#outcome.options.push(options.map(({ who }) => who))
      actor = options[(choices[this.#outcome.steps++] ?? 0) % options.length] ?? usual
    }
    this.#last = actor.who
    this.#world.clock.pass(settings.msPerStep)
    const what = actor.step()
    if (this.#isTold && this.#judge !== undefined) this.#outcome.story.push({ who: actor.who, what })
    drain()
    if (this.#outcome.wrong.length === 0 && !this.#hasEnded)
      this.#outcome.wrong.push(...(this.#judge?.amid() ?? []))
    return true
  }

  /** Returns the writers, which share one list of operations. */
  #writersOf(operations: readonly Operation[]): Writer[] {
    const { settings } = this.#scenario
    if (operations.length === 0) this.#ask('add() or remove()', this.#regroup())
    const done = (i: number) => {
      if (i === (operations.length - 1) >> 1) this.#ask('add() or remove()', this.#regroup())
      if (i + 1 === settings.syncAfter) this.#ask('sync() amid the work', this.#sync())
    }
    const parts = { world: this.#world, settings, operations, rest: operations.keys(), done }
    return Array.from({ length: settings.writers }, () => new Writer(parts))
  }

  #ask(what: string, done: Promise<void> | undefined): void {
    if (done === undefined) return
    // #until() awaits the promise later, and the promise may reject before that.
    done.catch(() => {})
    this.#asked.push({ what, done })
  }

  #perform(operation: Operation): void {
    runAll(callsOf(operation, this.#world.files, this.#world.tree))
    // The files of the initial tree are old.
    this.#world.clock.pass(1000)
  }

  #answer(): string {
    this.#world.calls.shift()?.()
    return 'one is answered'
  }

  #read(): string {
    return `${this.#world.inotify?.deliver().length ?? 0} are read`
  }

  #fire(): string {
    const { clock } = this.#world
    const { wait } = clock
    clock.fire()
    return wait === 0 ? 'fires' : `fires, after ${wait} ms`
  }

  #onChanges(changes: Change[]): void {
    this.#judge?.apply(changes)
    if (this.#isTold) this.#outcome.story.push({ who: '  told', what: changes.map(inWords).join(', ') })
  }

  #onError(error: Error): void {
    if (!this.#isProvoked(error)) this.#outcome.wrong.push(`an error is told: ${error.message}`)
  }

  #isProvoked(error: unknown): boolean {
    const { watches, fails, failsBy } = this.#scenario.settings
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return (watches > 0 && code === 'ENOSPC') || (fails > 0 && code === failsBy)
  }
}

/**
 * Plays a scenario within one task of the event loop, in which all promises of the engine are settled. See
 * {@link inTask}.
 */
export function play(scenario: Scenario, isTold = false): Outcome {
  return new Player(scenario, isTold).play()
}

function rootsOf({ nesting, sibling }: Settings): string[] {
  if (sibling) return [ROOT, SIBLING]
  if (nesting === '') return [ROOT]
  if (nesting === 'outer added') return [NESTED]
  return nesting === 'inner first' ? [NESTED, ROOT] : [ROOT, NESTED]
}

/**
 * Runs a function that plays scenarios in a task of its own. Within a microtask, no other microtask could run
 * before the function's end.
 */
export function inTask<T>(run: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(run())
      } catch (error) {
        reject(error)
      }
    })
  })
}

const ticks = process as NodeJS.Process & { _tickCallback(): void }

// Runs all microtasks, and so everything that the engine can do by itself. A turn of the event loop does the
// same and takes thirty times as long.
function drain(): void {
  ticks._tickCallback()
}
