import { IN_MOVED_FROM, IN_MOVED_TO } from '../../../src/index.ts'
import { Translator } from '../../../src/watch/events/translator.ts'
import { Pending } from '../../../src/watch/pending/pending.ts'
import type { Change } from '../../../src/watch/report/change.ts'
import type { Rules } from '../../../src/watch/rules.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { type Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'
import { inWords } from '../support.ts'
import { file } from '../tree/believed.ts'
import { type Event, viewOf } from './batches.ts'

/** Rules for paths relative to /t. */
export class FakeRules implements Rules {
  readonly hidden = new Set<string>()
  recursive = true
  followsLinks = false
  readonly followsRoots = true
  readonly hidesByRoot = false

  get hidesSome(): boolean {
    return this.hidden.size > 0
  }

  hides(path: string): boolean {
    return this.hidden.has(relative(path))
  }
}

const relative = (path: string) => (path === '/t' ? '.' : path.slice('/t/'.length))

/**
 * The present entry of each name that a look can see, by path; null: none. Names are those in the directories
 * of the beginning. Other names cannot be looked at.
 */
export type Now = Record<string, Entry | null>

/** A tree at /t, and a translator that changes the tree. */
export class World {
  readonly tree = new Tree()
  readonly rules = new FakeRules()
  readonly pending = new Pending(this.tree, 0)
  readonly translator = new Translator(this)
  readonly mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)
  readonly root: Directory
  // The wd of each directory, by its first path.
  readonly #wds = new Map<string, number>()

  /**
   * `entries` by path, parents first: an inode number or an entry. A path with a slash at the end is a
   * directory's.
   */
  constructor(entries: Record<string, number | Entry> = {}) {
    this.root = this.tree.addRoot('/t', this.mount)
    this.watch(this.root, '')
    for (const [path, what] of Object.entries(entries)) {
      const names = path.split('/').filter(Boolean)
      const name = names.pop() as string
      const parent = this.at(names.join('/'))
      if (typeof what !== 'number') this.tree.editableEntriesOf(parent).set(name, what)
      else if (path.endsWith('/')) {
        const directory = this.tree.add(parent, name, what, this.mount)
        directory.isListed = true
        this.watch(directory, path.slice(0, -1))
      } else this.tree.editableEntriesOf(parent).set(name, file(what))
    }
  }

  /** Sets a watch of a directory; with `wd` the one of another path. */
  watch(directory: Directory, path: string, wd = this.#wds.size + 1): void {
    this.tree.setWatch(directory, wd)
    this.#wds.set(path, wd)
  }

  /** Returns the directory at a path of the tree; '': /t. */
  at(path: string): Directory {
    const found = this.tree.find(this.root, path.split('/').filter(Boolean))
    if (found === undefined) throw new Error(`no directory ${path}`)
    return found
  }

  /**
   * Returns an event for the last name of a path. The watch is that of the directory that had the rest of the
   * path at the beginning.
   */
  event(mask: number, path: string, cookie = 0): Event {
    const end = path.lastIndexOf('/')
    const wd = this.#wds.get(path.slice(0, Math.max(0, end)))
    if (wd === undefined) throw new Error(`no watch for ${path}`)
    return [wd, mask, path.slice(end + 1), cookie]
  }

  /** Returns both halves of a rename. */
  rename(from: string, to: string, cookie = 1, flags = 0): [Event, Event] {
    return [this.event(IN_MOVED_FROM | flags, from, cookie), this.event(IN_MOVED_TO | flags, to, cookie)]
  }

  translate(events: readonly Event[], now: Now = {}, keepsStat = false): Change[] {
    const paths = new Map([...this.#wds].map(([path, wd]) => [wd, path === '' ? '' : `${path}/`]))
    return this.translator.translate(viewOf(events, (name, wd) => now[paths.get(wd) + name], keepsStat))
  }

  /**
   * Returns the changes of batches of events, with all looks at `now`, and the deletes of renames that stayed
   * halves.
   */
  told(batches: ReadonlyArray<readonly Event[]>, now: Now = {}): string[] {
    const changes = batches.flatMap((events) => this.translate(events, now))
    changes.push(...this.translator.giveUp())
    if (!this.pending.moves.isEmpty) throw new Error('something is still on its way')
    return this.words(changes)
  }

  words(changes: Change[]): string[] {
    return changes.map((change) => inWords(change, '/t'))
  }

  /** Returns all paths of the tree, with a slash at the end of each watched directory. */
  get believed(): string[] {
    const paths: string[] = []
    for (const directory of this.tree.within(this.root)) {
      for (const [name, entry] of this.tree.entriesOf(directory)) {
        const isDirectory = 'mount' in entry
        paths.push(relative(this.tree.pathOf(directory, name)) + (isDirectory ? '/' : ''))
      }
    }
    return paths.toSorted()
  }

  /** Returns the names in doubt, and clears them. */
  takeDoubts(): string[] {
    const questions = this.pending.rechecks.begin()
    this.pending.rechecks.clear()
    return [...questions].flatMap(([directory, names]) =>
      (names ?? ['*']).map((name) => relative(this.tree.pathOf(directory, name))),
    )
  }

  /** Returns the dirty directories and the names to be looked at alone, and clears them. */
  takeWork(): { listed: string[]; looked: string[] } {
    const { directories, names } = this.pending.work.take(() => false)
    const pathsOf = ([directory, some]: [Directory, Set<string>]) =>
      [...some].map((name) => relative(this.tree.pathOf(directory, name)))
    return {
      listed: [...directories.keys()].map((directory) => relative(this.tree.pathOf(directory))),
      looked: [...names].flatMap(pathsOf),
    }
  }
}
