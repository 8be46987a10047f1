import { basename, dirname } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import { textOf } from '../../../name_key.ts'
import type { Questions } from '../../pending/recheck_queue.ts'
import { mayPass, openError } from '../../report/watch_error.ts'
import type { Entry, LookedAt } from '../../scan/entry.ts'
import type { Listing, RootFinding } from '../../scan/listing.ts'
import type { WalkRequest } from '../../scan/walk_request.ts'
import type { TreeWalker } from '../../system.ts'
import { keepsStat } from '../../tree/believed_entry.ts'
import type { Directory } from '../../tree/directory.ts'
import type { DiffContext } from '../context.ts'
import { KnownPlaces } from './known_places.ts'
import type { Scanner } from './scanner.ts'
import type { ScanTarget } from './snapshot_dir.ts'

/** Looks at names and directories, and returns what was seen. The callers decide what becomes of it. */
export class Looker {
  readonly #context: DiffContext
  readonly #walker: TreeWalker
  readonly #scanner: Scanner

  constructor(context: DiffContext, walker: TreeWalker, scanner: Scanner) {
    this.#context = context
    this.#walker = walker
    this.#scanner = scanner
  }

  /** Sets `seen` of each of these names, by wd, to the present entry; without its stat where none is kept. */
  async look(byWd: ReadonlyMap<number, readonly LookedAt[]>): Promise<void> {
    const { tree, settings } = this.#context
    const asked: Array<{ directory: Directory; names: readonly LookedAt[] }> = []
    const requests: WalkRequest[] = []
    for (const [wd, names] of byWd) {
      const directories = tree.at(wd)
      const directory = directories.find((each) => tree.isAttached(each))
      if (directory === undefined) continue
      const stat = directories.some(keepsStat)
      const hash = stat && settings.hash && directory.mount.usesPolling
      requests.push({ ...this.#scanner.placeOf(directory), stat, hash, names: names.map(({ name }) => name) })
      asked.push({ directory, names })
    }
    await this.#walker.walk(requests, (listing) => {
      const { directory, names } = asked[listing.id] as (typeof asked)[number]
      const isIt = directory.ino === 0 || directory.ino === listing.ino
      if (listing.error === 0 && isIt) listing.answer(names)
    })
  }

  /** Sets in `found` the present listing of each directory asked for. */
  async lookAt(questions: Questions, found: Map<Directory, Listing>): Promise<void> {
    const { tree, inotify } = this.#context
    const targets = this.targets([...questions].filter(([directory]) => tree.isAttached(directory)))
    const take = (listing: Listing) => {
      const requested = targets[listing.id]?.requested
      if (listing.parent === undefined && requested !== undefined) found.set(requested, listing)
    }
    const requests = targets.map((target) => this.#scanner.request(target, {}))
    await this.#walker.walk(requests, take, inotify.instance)
  }

  /**
   * Returns a listing, with the stat of each entry, of each directory from these on of which no stat is kept. The tree and the watches stay as they are.
   */
  async see(tops: readonly Directory[]): Promise<Map<Directory, Listing>> {
    const { tree, rules } = this.#context
    const recursive = rules.recursive && !rules.hidesSome
    // The walker goes into no other mount by itself.
    const isAsked = (each: Directory) =>
      !each.mount.usesPolling && (!recursive || each.parent === undefined || each.mount.base === each)
    const asked = tops.flatMap((top) => [...tree.within(top)].filter(isAsked))
    const snapshot = this.#scanner.begin()
    snapshot.begin(asked.map((each) => this.#scanner.target(snapshot, each)))
    const requests = asked.map((each) => ({ ...this.#scanner.placeOf(each), recursive, stat: true }))
    await this.#walker.walk(requests, (listing) => void snapshot.take(listing))
    const seen = new Map<Directory, Listing>()
    for (const [{ listing, isRead }, known] of new KnownPlaces().of(snapshot))
      if (isRead && listing?.ino === known.ino && !keepsStat(known)) seen.set(known, listing)
    return seen
  }

  /** Returns what is at the place of each of these roots now. */
  async identify(roots: readonly Directory[]): Promise<Map<Directory, RootFinding>> {
    const found = new Map<Directory, RootFinding>()
    const requests = roots.map((root) => ({ ...this.#scanner.placeOf(root), names: [] }))
    await this.#walker.walk(requests, (listing) => void found.set(roots[listing.id] as Directory, listing))
    return found
  }

  /**
   * Returns the entries at the ends of these paths, which have no symlinks. null: nothing is there, as far as can be seen; an error: a server or a disk is in
   * trouble, which says nothing of the entry. Rejects if something is short. All names asked for in one directory are looked at together.
   *
   * @param hash true: files are read, and each stat has a digest of the content
   */
  async stat(realPaths: readonly string[], hash = false): Promise<Array<Entry | null | InotifyError>> {
    const found: Array<Entry | null | InotifyError> = realPaths.map(() => null)
    const byDirectory = new Map<string, number[]>()
    for (const [i, path] of realPaths.entries()) {
      const some = byDirectory.get(dirname(path))
      if (some === undefined) byDirectory.set(dirname(path), [i])
      else some.push(i)
    }
    const groups = [...byDirectory.values()]
    const nameOf = (i: number) => basename(realPaths[i] as string)
    const requests = [...byDirectory].map(([root, group]) => {
      // The root of all has no name in a directory.
      const names = new Set(group.map(nameOf).filter((name) => name !== ''))
      return { root, rel: '', stat: true, hash, names: [...names] }
    })
    await this.#walker.walk(requests, (listing) => {
      const { id, error, ino, isShort } = listing
      const failureOf = (i: number) => openError(error, textOf(realPaths[i] as string))
      const group = groups[id] as [number]
      if (isShort) throw failureOf(group[0])
      const entries = listing.entries()
      for (const i of group) {
        const entry = nameOf(i) === '' ? { kind: 'directory' as const, ino } : entries.get(nameOf(i))
        // The error may be that of another name in the directory: then nothing says that this one is missing.
        found[i] = entry ?? (mayPass(-error) ? failureOf(i) : null)
      }
    })
    return found
  }

  /** Returns the targets for a look at each directory by itself, or at some names in it. */
  targets(
    questions: ReadonlyArray<readonly [Directory, readonly string[] | undefined]>,
    snapshot = this.#scanner.begin(),
  ): ScanTarget[] {
    return questions.map(([directory, names]) =>
      this.#scanner.target(snapshot, directory, { isLook: true, names: names && new Set(names) }),
    )
  }
}
