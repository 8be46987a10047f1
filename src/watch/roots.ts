import { debuglog } from 'node:util'
import type { Backend } from '../mounts/filesystems.ts'
import { attach } from './attach.ts'
import type { Change, RootChange, Source } from './change.ts'
import { difference, type Entries, withNames } from './entries.ts'
import { InotifySource, type NameEvent } from './inotify_source.ts'
import { Lane } from './lane.ts'
import type { Settings } from './options.ts'
import { Root } from './root.ts'
import { Schedule } from './schedule.ts'
import type { WatchSystem } from './system.ts'
import { Translator } from './translate.ts'
import { asWatchError, closedError, isShortage } from './watch_error.ts'

/** Where the changes of a root come from: see {@link Watcher.coverage}. */
export interface Coverage {
  path: string
  backend: Backend
  /** One sentence: what the mount's type delivers, or who decided otherwise. */
  why: string
  directories: number
  /** What could not be watched as chosen. */
  uncovered: Array<{ path: string; error: Error }>
}

export interface RootsListener {
  changes(changes: Change[]): void
  /** Something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void
  /** Events can no longer be read. */
  broken(error: Error): void
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
}

// The halves of a rename were measured 0.44 ms apart at most, with a read in between at the worst.
const SETTLING_MS = 10

const trace = debuglog('inotify-bridge')

/**
 * The watched directories: what is believed of them, and all that changes it. Events are hints. They are held against what is
 * believed, so that what a listing has told already is not told again; and where they leave a doubt, the name is looked at.
 */
export class Roots {
  readonly #settings: Settings
  readonly #system: WatchSystem
  readonly #listener: RootsListener
  readonly #roots = new Map<string, Root>()
  readonly #translator = new Translator()
  // Events, polls and rescans change what is believed, each over several awaits: one at a time.
  readonly #lane = new Lane()
  readonly #polls: Schedule
  readonly #settling: Schedule
  #inotify: InotifySource | undefined
  #closed = false

  constructor(settings: Settings, system: WatchSystem, listener: RootsListener) {
    this.#settings = settings
    this.#system = system
    this.#listener = listener
    const { persistent } = settings
    const failed = (error: unknown) => {
      trace('%s', error)
      listener.trouble(error)
    }
    const needsPoll = (root: Root) => root.polled || !root.present
    this.#polls = new Schedule({
      every: settings.interval,
      persistent,
      failed,
      needed: () => [...this.#roots.values()].some(needsPoll),
      run: async () => {
        for (const root of [...this.#roots.values()].filter(needsPoll)) await this.#poll(root)
        await listener.room()
      },
    })
    this.#settling = new Schedule({
      every: SETTLING_MS,
      persistent,
      failed,
      needed: () => this.#unsettled,
      run: () => this.#settle(),
    })
  }

  /** Watches one more directory. Rejects with InotifyError: as it cannot be opened, listed or watched, or EBADF. */
  add(path: string): Promise<void> {
    return this.#lane.run(async () => {
      this.#assertOpen()
      if (this.#roots.has(path)) return
      const root = new Root(path, this.#settings.ignores)
      const entries = await this.#attach(root)
      this.#assertOpen()
      this.#roots.set(path, root)
      root.present = true
      if (this.#settings.initial) this.#adopt(root, entries, 'rescan')
      else root.entries = entries
      this.#polls.arm()
      this.#settling.arm()
    })
  }

  remove(path: string): Promise<void> {
    return this.#lane.run(async () => {
      const root = this.#roots.get(path)
      if (root === undefined) return
      this.#report(this.#translator.forget(root))
      this.#roots.delete(path)
      this.#detach(root)
    })
  }

  /** Every change made before this call has been told when it resolves. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#inotify?.barrier()
    await this.#settling.now()
    await this.#polls.now()
    // Nothing tells that an ancestor was renamed, or that a directory was removed in which some process still is.
    for (const root of this.#roots.values()) if (root.present && !root.polled) await this.#verify(root)
    this.#assertOpen()
  }

  coverage(): Coverage[] {
    return [...this.#roots.values()].map(({ path, source, present }) => ({
      path,
      backend: source.backend,
      why: source.why,
      directories: present ? 1 : 0,
      uncovered: [...source.uncovered],
    }))
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    this.#closed = true
    const stopped = [this.#polls.stop(), this.#settling.stop()]
    await this.#inotify?.close()
    await Promise.all(stopped)
    await this.#lane.idle()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  #attach(root: Root): Promise<Entries> {
    return attach(root, {
      backend: this.#settings.backend,
      system: this.#system,
      inotify: () => this.#source(),
      limited: (error) => this.#listener.trouble(error),
    })
  }

  #source(): InotifySource {
    if (this.#inotify !== undefined) return this.#inotify
    // Closing does not wait for what it cannot see.
    this.#assertOpen()
    const inotify = this.#system.openInotify({ persistent: this.#settings.persistent })
    this.#inotify = new InotifySource(inotify, {
      events: async (events) => {
        await this.#lane.run(() => this.#onEvents(events))
        this.#settling.arm()
        await this.#listener.room()
      },
      overflow: () => this.#lane.run(async () => this.#onOverflow()),
      recover: () => this.#lane.run(() => this.#onRecovery()),
      gone: (root) => this.#lane.run(async () => this.#lose(root, 'inotify')),
      failed: (error) => this.#listener.broken(error),
    })
    return this.#inotify
  }

  #detach(root: Root): void {
    root.forget()
    this.#inotify?.detach(root)
  }

  async #onEvents(told: NameEvent[]): Promise<void> {
    // Some may be of a root that was removed or lost since they were read.
    const events = told.filter(({ root }) => root.present)
    const touched = new Map<Root, Set<string>>()
    for (const { root, name } of events) {
      const names = touched.get(root)
      if (names === undefined) touched.set(root, new Set([name]))
      else names.add(name)
      root.touched?.add(name)
    }
    const found = new Map<unknown, Entries>()
    const gone: Root[] = []
    for (const [root, names] of touched) {
      const seen = await this.#look(root, names)
      if (seen === undefined) gone.push(root)
      found.set(root, seen ?? new Map())
    }
    const named = events.map(({ root, ...event }) => ({ ...event, directory: root }))
    this.#report(this.#translator.translate(named, (root, name) => found.get(root)?.get(name)))
    for (const [root, names] of touched)
      for (const name of names) root.weigh(name, found.get(root)?.get(name))
    for (const root of gone) this.#lose(root, 'inotify')
  }

  /** undefined: the root is gone. Nothing is found, and all is in doubt, while there is no descriptor to look with. */
  async #look(root: Root, names: Iterable<string>): Promise<Entries | undefined> {
    try {
      return await root.look(names)
    } catch (error) {
      trace('%s: %s', root.path, error)
      return isShortage(error) ? new Map() : undefined
    }
  }

  get #unsettled(): boolean {
    return this.#translator.isPending || [...this.#roots.values()].some((root) => root.isUnsettled)
  }

  /** Decides what events have left open, when every event that could close it has been told. */
  async #settle(): Promise<void> {
    if (!this.#unsettled) return
    const departures = this.#translator.pending
    const roots = [...this.#roots.values()].map((root) => ({
      root,
      doubts: [...root.doubts],
      listed: [...root.listed],
    }))
    // Without a watch to spare for it, the time that has passed decides.
    await this.#inotify?.barrier().catch((error) => trace('no barrier: %s', error))
    await this.#lane.run(async () => {
      this.#report(this.#translator.giveUp(departures))
      for (const { root, doubts, listed } of roots) {
        for (const name of listed) root.listed.delete(name)
        const open = doubts.filter(([name, doubt]) => root.doubts.get(name) === doubt).map(([name]) => name)
        if (open.length > 0) await this.#lookAgain(root, open)
      }
    })
  }

  async #lookAgain(root: Root, names: string[]): Promise<void> {
    let seen: Entries | undefined
    try {
      seen = await root.look(names)
    } catch (error) {
      if (isShortage(error)) return
    }
    if (seen === undefined) this.#lose(root, 'rescan')
    else {
      for (const name of names) root.doubts.delete(name)
      this.#adopt(root, withNames(root.entries, names, root.visible(seen)), 'rescan')
    }
  }

  #onOverflow(): void {
    this.#report(this.#translator.giveUp(this.#translator.pending))
    for (const root of this.#roots.values()) {
      if (root.wd === undefined) continue
      root.isOverflown = true
      this.#report([aboutRoot('overflow', root, 'inotify')])
    }
  }

  async #onRecovery(): Promise<void> {
    for (const root of this.#roots.values()) {
      if (root.wd === undefined) continue
      await this.#rescan(root)
      if (root.isOverflown && root.present) this.#report([aboutRoot('recovered', root, 'rescan')])
      root.isOverflown = false
    }
  }

  async #rescan(root: Root): Promise<void> {
    // Without a descriptor to look with the root counts as lost: what differs is told when it is back.
    const entries = await root
      .reattach((path) => this.#inotify?.attach(root, path))
      .catch((error) => {
        trace('%s: %s', root.path, error)
        return undefined
      })
    // A poll's listing that is under way is older than this one.
    root.touched = undefined
    root.doubts.clear()
    if (entries === undefined) await this.#replace(root, 'rescan')
    else this.#adopt(root, entries, 'rescan')
  }

  /** As {@link Root.list}, and undefined too when it fails for a reason that lies in the path. */
  async #list(root: Root): Promise<Entries | undefined> {
    try {
      return await root.list()
    } catch (error) {
      if (isShortage(error)) throw asWatchError(error, root.path)
      trace('%s: %s', root.path, error)
      return undefined
    }
  }

  async #poll(root: Root): Promise<void> {
    const touched = new Set<string>()
    root.touched = touched
    // Events go on meanwhile.
    const entries = root.present ? await this.#list(root) : undefined
    // What the listing shows and events tell as well, they have told behind the barrier: each change is told once, and by its event
    // where it has one.
    if (root.wd !== undefined) {
      await this.#inotify?.barrier().catch((error) => trace('no barrier: %s', error))
    }
    await this.#lane.run(async () => {
      // Removed, lost or rescanned since: what is listed is out of date.
      if (this.#closed || root.touched !== touched) return
      root.touched = undefined
      if (entries === undefined) await this.#replace(root, 'poll')
      else this.#adopt(root, withNames(entries, touched, root.entries), 'poll')
    })
  }

  async #verify(root: Root): Promise<void> {
    await this.#lane.run(async () => {
      if (!root.present) return
      const holds = await root.holds().catch((error) => isShortage(error))
      if (!holds) await this.#replace(root, 'rescan')
    })
  }

  #adopt(root: Root, entries: Entries, source: Source): void {
    const gone = this.#translator.makeWay(root, entries)
    const changes = difference(root.entries, entries, (name) => root.pathOf(name), source)
    root.entries = entries
    this.#report([...gone, ...changes])
  }

  #lose(root: Root, source: Source): void {
    if (!root.present) return
    this.#report([...this.#translator.forget(root), aboutRoot('lost', root, source)])
    this.#detach(root)
    this.#polls.arm()
  }

  /** The path is not what it was: says so, and watches what is there now, if something is. */
  async #replace(root: Root, source: Source): Promise<void> {
    this.#lose(root, source)
    if (this.#closed || this.#roots.get(root.path) !== root) return
    let entries: Entries
    try {
      entries = await this.#attach(root)
    } catch (error) {
      trace('%s is still lost: %s', root.path, error)
      return
    }
    root.present = true
    this.#report([aboutRoot('restored', root, 'rescan')])
    this.#adopt(root, entries, 'rescan')
    this.#settling.arm()
  }

  #report(changes: Change[]): void {
    if (changes.length > 0 && !this.#closed) this.#listener.changes(changes)
  }
}

function aboutRoot(type: RootChange['type'], root: Root, source: Source): RootChange {
  return { type, path: root.path, source }
}
