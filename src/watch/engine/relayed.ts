import { CoalescedTask } from '../../coalesced_task.ts'
import { RELAYED_MS, type RelayClient, type RelayListener } from '../../relay/relay_client.ts'
import type { NamesOf } from '../pending/dirty_set.ts'
import { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/** The most ms between polls until one has looked at everything behind a gap. */
const BEHIND_MS = 1000

/** NAME_MAX: a longer name comes from no file system. */
const NAME_BYTES = 255

/**
 * Looks at names that a relay has hinted at, and tells how seldom polls may be meanwhile. A hint says that something has changed at a path, and never what:
 * so a forged or doubled hint costs a look. After each gap in the hints a poll looks at everything.
 */
export class Relayed implements RelayListener {
  readonly #context: EngineContext
  readonly #relay: Pick<RelayClient, 'sync' | 'close'> | undefined
  /** True: the relay is there, and tells of all changes after the last gap. Polls are then made here, and not by the walker's thread alone. */
  isConnected = false
  // True: a poll of the root, begun after the last gap, is over.
  #isCaughtUp = false
  #gaps = 0
  // Whatever a relay says how often: a poll under way, and one behind it.
  readonly #catchUp = new CoalescedTask(() => this.#context.polls.now())

  constructor(context: EngineContext) {
    this.#context = context
    this.#relay = context.settings.relay && context.system.openRelay(context.settings.relay, this)
  }

  /** ms from one poll to the next. */
  get rest(): number {
    const { settings, pollInterval } = this.#context
    if (this.#isTrusted) return Math.max(RELAYED_MS, settings.interval)
    const { rest } = pollInterval
    // The poll at the gap may have come before the root.
    return this.isConnected ? Math.min(rest, BEHIND_MS) : rest
  }

  /** One sentence; undefined: there is no relay to be had. */
  get why(): string | undefined {
    if (this.#relay === undefined) return undefined
    if (!this.isConnected) return 'its relay is not there'
    return this.#isTrusted
      ? `its relay tells of changes, and a poll every ${this.rest / 1000} s looks for others`
      : 'its relay tells of changes as well'
  }

  /** Resolves with true when all changes made before the call have been told; false: a poll has to tell them. */
  async sync(): Promise<boolean> {
    return this.#isTrusted && (await this.#relay?.sync()) === true && this.#isTrusted
  }

  /** True: a poll of everything is needed, as hints are missing. */
  get isBehind(): boolean {
    return this.isConnected && !this.#isCaughtUp
  }

  /** Notes that a poll begins. Returns the function to be called at its end. */
  poll(): () => void {
    const gaps = this.#gaps
    const [root] = this.#context.forest.standing()
    const isPolled = root?.isPresent === true
    return () => {
      if (!isPolled || gaps !== this.#gaps || !this.isConnected || this.#isCaughtUp) return
      this.#isCaughtUp = true
      // The next poll was due soon.
      this.#context.polls.rearm()
    }
  }

  gap(): void {
    this.isConnected = true
    this.#fallBehind()
  }

  async hints(paths: readonly string[]): Promise<void> {
    const { inotify, queue, reporter } = this.#context
    // An event tells of a change that was made through this mount, and comes before the hint.
    await inotify.barrier().catch(() => {})
    await queue.run(() => this.#take(paths)).catch((error) => reporter.trouble(error))
    await reporter.room()
  }

  lost(error: Error): void {
    this.isConnected = false
    this.#context.reporter.trouble(error)
    this.#fallBehind()
  }

  close(): void {
    this.#relay?.close()
  }

  /** True: what the relay does not tell has not changed. It tells of one mount, of the one root. */
  get #isTrusted(): boolean {
    const { forest, pollScope } = this.#context
    const [root, ...others] = forest.standing()
    if (!this.isConnected || !this.#isCaughtUp || root === undefined || others.length > 0) return false
    return pollScope.isNoneBut(root)
  }

  /** Has everything polled now, as hints are missing. */
  #fallBehind(): void {
    this.#isCaughtUp = false
    this.#gaps++
    // The time of the next poll was another one.
    this.#context.polls.rearm()
    this.#catchUp.run().catch((error) => this.#context.reporter.trouble(error))
  }

  async #take(paths: readonly string[]): Promise<void> {
    const { forest, events, rescan, shortage, tree } = this.#context
    const [root] = forest.standing()
    const hinted: NamesOf = new Map()
    const whole: Directory[] = []
    for (const path of paths) {
      const isWhole = path.endsWith('/')
      const names = (isWhole ? path.slice(0, -1) : path).split('/')
      // A root that is not there is looked for by polls, and what is in it by the poll that finds it.
      if (root?.top === undefined) return
      if (path === '') return this.#fallBehind()
      if (!names.every(isName)) continue
      const { directory, name } = this.#find(root.top, names)
      events.note(directory, name)
      hinted.set(directory, (hinted.get(directory) ?? new Set()).add(name))
      if (!isWhole && !events.isRecording) continue
      // Hints that came while the directory was elsewhere led nowhere, and what was seen in a new one may have gone before its watch. A poll under way leaves the directory out.
      const entry = tree.entriesOf(directory).get(name)
      if (entry instanceof Directory) whole.push(entry)
    }
    if (hinted.size === 0) return
    const look = () => rescan.list(whole, hinted, Number.POSITIVE_INFINITY, 'poll')
    if (!(await shortage.unless(this, look))) this.#fallBehind()
  }

  /** Returns the place of the last name, or of the first that leads to no known directory. */
  #find(top: Directory, [first = '', ...others]: readonly string[]): { directory: Directory; name: string } {
    const { tree } = this.#context
    let [directory, name] = [top, first]
    for (const next of others) {
      const below = tree.entriesOf(directory).get(name)
      if (!(below instanceof Directory && below.isListed)) break
      directory = below
      name = next
    }
    return { directory, name }
  }
}

/** Returns true for a name that an entry may have. */
function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && name.length <= NAME_BYTES
}
