import { debuglog } from 'node:util'
import { textOf } from '../../../name_key.ts'
import { warn } from '../../../warning.ts'
import { linksError, MOST_LINKS, mayPass, openError } from '../../report/watch_error.ts'
import { type Entry, mayBeSame } from '../../scan/entry.ts'
import type { Listing } from '../../scan/listing.ts'
import type { TreeWalker } from '../../system.ts'
import { Directory, isLinkBase, isUnwatched, linksAbove, WatchedMount } from '../../tree/directory.ts'
import type { DiffContext } from '../context.ts'
import type { Snapshot } from './snapshot.ts'
import { placeBelow, type ScanTarget, type SnapshotDir } from './snapshot_dir.ts'

const trace = debuglog('inotify-bridge')

/**
 * Finds where a scan goes on: what the walker has met and does not go into by itself. These are other mounts, ends of symlinks that are followed and,
 * if something is ignored, the directories one level below, since only JavaScript knows what is ignored. It lists none of them, and changes nothing in
 * the tree.
 */
export class ScanFrontier {
  readonly #context: DiffContext
  readonly #walker: TreeWalker
  #hasWarned = false

  constructor(context: DiffContext, walker: TreeWalker) {
    this.#context = context
    this.#walker = walker
  }

  /** Returns true if a listing may lead to something that the walk does not list as well. Most do not. */
  mayLeadOn({ listing, target }: SnapshotDir): boolean {
    const { hidesSome, followsLinks } = this.#context.rules
    return hidesSome || followsLinks || target !== undefined || listing?.isBoundary === true
  }

  /** Returns what is to be scanned next: the directories one level below, and the others. */
  async beyond(
    snapshot: Snapshot,
    fresh: readonly SnapshotDir[],
  ): Promise<{ level: ScanTarget[]; others: ScanTarget[] }> {
    const [level, others]: [ScanTarget[], ScanTarget[]] = [[], []]
    const links: Array<[at: SnapshotDir, name: string]> = []
    for (const found of fresh) {
      if (found.isOnOtherMount) {
        const target = snapshot.isResolved ? await this.#cross(snapshot, found) : undefined
        if (target !== undefined) others.push(target)
      } else if (found.isRead) {
        level.push(...this.levelBelow(found))
        if (!snapshot.isResolved) continue
        if (!this.#context.rules.followsLinks) continue
        found.links = new Map()
        for (const [name, { kind }] of found.entries) {
          if (kind !== 'symlink' || !found.covers(name)) continue
          found.links.set(name, 'followed')
          links.push([found, name])
        }
      }
    }
    if (links.length > 0) others.push(...(await this.#follow(links)))
    return { level, others }
  }

  /** Yields directories that the walker does not go into by itself, since some of them may be ignored. */
  *levelBelow(found: SnapshotDir, entries = found.entries): Generator<ScanTarget> {
    const { rules, watchLimit } = this.#context
    const { recursive, hidesSome } = rules
    const isLook = found.target?.isLook === true
    if (!recursive || !(hidesSome || isLook)) return
    const { place, listing, mount } = found
    for (const [name, entry] of entries) {
      if (entry.kind !== 'directory' || !found.covers(name)) continue
      if (isLook && this.#isAsBelieved(found, name, entry)) continue
      const isWatched = watchLimit !== undefined && (this.#believedIn(found, name)?.wd ?? 0) > 0
      yield {
        place: placeBelow(place, name, listing?.ino),
        name,
        parent: found,
        mount,
        isBase: false,
        isWatched,
      }
    }
  }

  /** Returns true if a directory is known, watched and listed: then events tell of its entries. */
  #isAsBelieved(found: SnapshotDir, name: string, entry: Entry): boolean {
    const known = this.#believedIn(found, name)
    if (known === undefined || isLinkBase(known) || !known.isListed || isUnwatched(known)) return false
    return mayBeSame(known, entry)
  }

  #believedAt(found: SnapshotDir): Directory | undefined {
    if (found.listing === undefined) return found.match
    const { parent, name, target } = found
    return target?.requested ?? (parent && this.#believedIn(parent, name))
  }

  #believedIn(found: SnapshotDir, name: string): Directory | undefined {
    const directory = this.#believedAt(found)
    const known = directory && this.#context.tree.entriesOf(directory).get(name)
    return known instanceof Directory ? known : undefined
  }

  /** Returns the target for a mount that the walker has met, with its own source. undefined: it is not scanned. */
  async #cross(snapshot: Snapshot, found: SnapshotDir): Promise<ScanTarget | undefined> {
    const { parent, name, place, listing } = found
    // A link that leads elsewhere than a moment ago is looked at again.
    if (parent === undefined || listing === undefined || (found.isBase && found.mount.isLinked))
      return undefined
    const { mountId } = listing
    const target = { place, name, parent }
    // Unmounted: the directory beneath is there again.
    if (mountId === (parent.listing?.mountId ?? parent.mount.mountId))
      return { ...target, mount: parent.mount, isBase: false }
    const known = this.#believedAt(found)
    const isKnown = known?.mount.base === known && known?.mount.isLinked === false
    if (isKnown && known?.mount.mountId === mountId)
      return { ...target, mount: known.mount, isBase: true, requested: known }
    const { sourceChoice } = this.#context
    const refuse = (error: Error) => ({ refused: error })
    const choice = await sourceChoice.chooseBelow(found.path).catch(refuse)
    if ('refused' in choice) {
      trace('%s: not watched: %s', found.path, choice.refused)
      snapshot.refuse(parent, { name, ino: listing.ino, error: choice.refused })
      return undefined
    }
    trace('%s: %s, because %s', found.path, choice.backend, choice.why)
    return { ...target, mount: new WatchedMount(choice, mountId), isBase: true }
  }

  /** Returns targets for symlinks' ends, which take their places. Not for one that is no directory, or in which the link lies, or behind too many links. */
  async #follow(links: ReadonlyArray<[at: SnapshotDir, name: string]>): Promise<ScanTarget[]> {
    const ends = await this.#identify(links.map(([at, name]) => at.pathTo(name)))
    const above = new Map<string, Identity[]>()
    const targets: ScanTarget[] = []
    for (const [i, [at, name]] of links.entries()) {
      const end = ends[i]
      if (end === undefined || (end !== 'unanswered' && (await this.#isCycle(at, end)))) continue
      const place = { root: at.pathTo(name), rel: '' }
      const target = { place, name, parent: at, isBase: true }
      const isBeyond = linksOnWayTo(at) >= MOST_LINKS
      const believed = this.#believedIn(at, name)
      const known = believed !== undefined && isLinkBase(believed) ? believed : undefined
      if (end === 'unanswered') at.links?.set(name, end)
      // The link still leads to its known end, as far as can be told.
      if (!isBeyond && known !== undefined && (end === 'unanswered' || leadsStill(known, end))) {
        targets.push({ ...target, mount: known.mount, requested: known })
        continue
      }
      if (end === 'unanswered') continue
      const root = this.#rootOf(at)
      const aboveRoot = above.get(root) ?? (await this.#above(root))
      above.set(root, aboveRoot)
      if (aboveRoot.some(({ identity }) => identity === end.identity)) continue
      if (isBeyond) {
        this.#leave(at, name)
        continue
      }
      const choice = await this.#context.sourceChoice.chooseBelow(place.root).catch(() => undefined)
      if (choice === undefined) at.links?.set(name, 'unanswered')
      if (choice === undefined || 'refused' in choice) continue
      targets.push({
        ...target,
        mount: new WatchedMount(choice, end.mountId, true),
        leadsTo: end.identity,
      })
    }
    return targets
  }

  /** Leaves a link unfollowed. An 'error' would end the process of a drop-in's user without a listener for it: so a warning says it, once. */
  #leave(at: SnapshotDir, name: string): void {
    const error = linksError(textOf(at.pathTo(name)))
    at.links?.set(name, error)
    if (!this.#hasWarned) warn('INOTIFY_BRIDGE_LINKS', error.message, 'coverage() names all such links.')
    this.#hasWarned = true
  }

  /** Returns true if a link leads to a directory that it lies in. */
  async #isCycle(at: SnapshotDir, end: Identity): Promise<boolean> {
    let found: SnapshotDir | undefined = at
    for (; found?.listing !== undefined; found = found.parent)
      if (found.listing.identity === end.identity) return true
    const alike: string[] = []
    for (let each = found?.match; each !== undefined; each = each.parent)
      if (mayBe(each, end)) alike.push(this.#context.tree.pathOf(each))
    const now = alike.length === 0 ? [] : await this.#identify(alike)
    return now.some((each) => each === 'unanswered' || each?.identity === end.identity)
  }

  /** Returns the directories at paths. undefined: none that can be opened; 'unanswered': a server or a disk is in trouble, which says nothing of the path. */
  async #identify(paths: readonly string[]): Promise<Array<Identity | 'unanswered' | undefined>> {
    const found: Array<Identity | 'unanswered' | undefined> = []
    const requests = paths.map((path) => ({ root: path, rel: '', names: [] }))
    await this.#walker.walk(requests, ({ id, error, isShort, ino, mountId, identity }) => {
      // A shortage says nothing of where the path leads.
      if (isShort) throw openError(error, textOf(paths[id] ?? ''))
      if (error === 0) found[id] = { ino, mountId, identity }
      else if (mayPass(-error)) found[id] = 'unanswered'
    })
    return found
  }

  /** The directories above a root, the nearest first, wherever the symlinks of its path have led: the kernel's `..` is above what they lead to. */
  async #above(root: string): Promise<Identity[]> {
    const above: Identity[] = []
    for (let path = `${root}/..`; ; path += '/..') {
      const [next] = await this.#identify([path])
      const last = above.at(-1)
      if (next === undefined || next === 'unanswered' || last?.identity === next.identity) return above
      above.push(next)
    }
  }

  #rootOf(at: SnapshotDir): string {
    let top = at
    while (top.parent !== undefined) top = top.parent
    let directory = top.match ?? top.target?.requested
    while (directory?.parent !== undefined) directory = directory.parent
    return directory === undefined ? top.path : this.#context.tree.pathOf(directory)
  }
}

type Identity = Pick<Listing, 'ino' | 'mountId' | 'identity'>

/** Returns the number of links that were followed on the way to a directory. */
function linksOnWayTo(at: SnapshotDir): number {
  let links = 0
  let top = at
  for (; top.parent !== undefined; top = top.parent) if (top.isBase && top.mount.isLinked) links++
  return top.match === undefined ? links : links + linksAbove(top.match)
}

/** Returns true if a known directory may be `end`, by what is kept: each subvolume of btrfs has a device of its own, and its numbers begin anew. */
function mayBe({ ino, mount }: Directory, end: Identity): boolean {
  return (ino === end.ino || mount.numbersPass) && mount.mountId === end.mountId
}

/** Returns true if a link leads to the directory that it has led to. */
function leadsStill(base: Directory, end: Identity): boolean {
  const { identity, numbersPass } = base.mount
  return mayBe(base, end) && (numbersPass || identity === '' || identity === end.identity)
}
