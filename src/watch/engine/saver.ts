import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Root } from '../roots/root.ts'
import { encodeSaved, type SavedRoot } from '../saved/format.ts'
import { type Seen, savedDirectories, savedEntry } from '../saved/save.ts'
import type { Listing } from '../scan/listing.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/**
 * Writes down what is believed, which is what has been told: names and inode numbers from the tree, and beside each the stat that a walk
 * sees. The walk may see newer stats than were told, so whatever has changed since the last moment up to which all had been told is in doubt.
 */
export class Saver {
  readonly #context: EngineContext

  constructor(context: EngineContext) {
    this.#context = context
  }

  /** Saves as one task of the engine: nothing is told meanwhile. Rejects if the file cannot be written. */
  async save(path: string): Promise<void> {
    const { system, pending, forest } = this.#context
    const { saving } = system
    const toldUntil = pending.consistentUntil - CLOCK_SLACK_MS
    const standing = forest.standing()
    const seen = await this.#see(standing)
    const roots: SavedRoot[] = []
    for (const root of standing) roots.push(await this.#savedOf(root, seen, toldUntil))
    await saving.write(path, await encodeSaved({ bootId: await saving.bootId(), toldUntil, roots }))
  }

  /** Walks through the directories of which no stat is kept, since their events tell of writes. */
  async #see(roots: readonly Root[]): Promise<Seen> {
    const { rules, tree, looker } = this.#context
    const isWhole = rules.recursive && !rules.hidesSome
    const asked: Directory[] = []
    for (const { isPresent, top } of roots) {
      if (!isPresent || top === undefined) continue
      for (const each of tree.within(top)) {
        // The walker goes into no other mount by itself.
        const isFirst = each === top || each.mount.base === each || !isWhole
        if (isFirst && !each.mount.usesPolling) asked.push(each)
      }
    }
    const seen = new Map<Directory, Listing>()
    const found: Array<Directory | undefined> = []
    const below = new Map<Directory, Map<string, Directory>>()
    const directoryOf = ({ id, parent, name }: Listing) => {
      if (parent === undefined) return asked[id]
      const above = found[parent]
      if (above === undefined) return undefined
      let names = below.get(above)
      if (names === undefined) {
        names = new Map([...above.subdirectories()].map((each) => [each.name, each]))
        below.set(above, names)
      }
      return names.get(name)
    }
    await looker.see(asked, isWhole, (listing) => {
      const directory = directoryOf(listing)
      const isIt = directory?.ino === listing.ino && !listing.isBoundary
      found[listing.id] = isIt ? directory : undefined
      if (isIt && directory !== undefined && listing.error === 0 && !keepsStat(directory))
        seen.set(directory, listing)
    })
    return seen
  }

  async #savedOf(root: Root, seen: Seen, toldUntil: number): Promise<SavedRoot> {
    const { system, pending } = this.#context
    const { path, top, file } = root
    const unknown = { type: '', source: '', device: '' }
    const filesystem = await system.saving.filesystemOf(path).catch(() => unknown)
    const entry = file?.entry
    if (entry !== undefined)
      return { path, kind: 'file', filesystem, entry: savedEntry(entry, entry, toldUntil) }
    if (top === undefined) return { path, kind: 'absent', filesystem }
    const doubtedSince = (directory: Directory) => {
      if (pending.failed.covers(directory)) return Number.NEGATIVE_INFINITY
      const { mount } = directory
      if (!keepsStat(directory)) return toldUntil
      // A poll under way may have seen a file before another write within the same tick of the clock of file times.
      return Math.min(toldUntil, (mount.leftover.get(directory) ?? mount.toldUntil) - CLOCK_SLACK_MS)
    }
    const directories = savedDirectories(top, seen, doubtedSince)
    return { path, kind: 'directory', filesystem, directories }
  }
}
