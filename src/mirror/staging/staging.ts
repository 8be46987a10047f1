import { constants } from 'node:os'
import { CallError, codeOf, except } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import { isOwn } from '../../mounts/syscalls/ownership.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { LOCK_UN } from '../../mounts/syscalls/syscall_thread.ts'
import { wasRemoved } from '../../volume/data_link.ts'
import { onTarget } from '../copy/safe_copy.ts'
import { StagingArea } from '../copy/staging_area.ts'
import type { TargetNode } from '../plan/tree.ts'
import {
  type Leftover,
  LOCK_FILE,
  openLeftover,
  removeStaging,
  removeUnfinished,
  stagingsIn,
  WORK_PREFIX,
} from './leftover_staging.ts'
import { isNote, NOTE_MODE, requireNew, type StagingState, stagingName, writeStateFile } from './own.ts'

/** A staging directory that has just been made. */
interface Made {
  readonly name: string
  readonly held: DirectoryHandle
  readonly lock: HeldFile
}

/**
 * The directory in which everything is made ready before it is renamed into place. It lies inside the target, since only
 * there rename(2) is sure to work when the target is a mount of its own; a watcher of the target sees one CREATE when the
 * mirror starts and nothing of what happens in it.
 */
export class Staging {
  readonly #target: DirectoryHandle
  readonly #shown: string
  readonly #made: Made
  #state: StagingState
  readonly #works = new Map<number, StagingArea>()

  private constructor(target: DirectoryHandle, shown: string, made: Made, state: StagingState) {
    this.#target = target
    this.#shown = shown
    this.#made = made
    this.#state = state
  }

  /**
   * Makes the staging directory, takes over from mirrors of this target that have ended, and throws EBUSY if one is
   * running.
   *
   * @param only the one entry that is mirrored to, '' for the whole directory
   */
  static async open(
    target: DirectoryHandle,
    { shown, createdTarget, only }: { shown: string; createdTarget: boolean; only: string },
  ): Promise<Staging> {
    const leftovers: Leftover[] = []
    try {
      for (const name of await stagingsIn(target)) {
        const leftover = await onTarget(shown, openLeftover(target, name, only, shown))
        if (leftover !== undefined) leftovers.push(leftover)
      }
      const states = leftovers.map(({ state }) => state)
      const state = {
        target: target.opened.ino,
        createdTarget: createdTarget || states.some((each) => each.createdTarget),
        only,
        made: union(states.map((each) => each.made)),
      }
      const made = await onTarget(shown, makeStaging(target, state, shown))
      const staging = new Staging(target, shown, made, state)
      try {
        // If two start at one time, the later one here sees the other.
        const known = [made.name, ...leftovers.map(({ name }) => name)]
        for (const other of await stagingsIn(target)) {
          if (known.includes(other)) continue
          const running = await onTarget(shown, openLeftover(target, other, only, shown))
          await running?.[Symbol.asyncDispose]()
        }
        await onTarget(shown, removeUnfinished(target))
        // Only now: being killed before this line leaves what was inherited for the next.
        for (const leftover of leftovers) await onTarget(shown, leftover.remove())
        return staging
      } catch (error) {
        await staging.remove().catch(() => {})
        throw error
      }
    } finally {
      for (const leftover of leftovers) await leftover[Symbol.asyncDispose]()
    }
  }

  /** Returns true if nobody has removed it. */
  async isThere(): Promise<boolean> {
    return await hasLinks(this.#made.held)
  }

  /** A pass over a source begins: it gets a place for what it makes ready, unless it has one that nobody has removed. */
  async prepare(source: number): Promise<void> {
    const had = this.#works.get(source)
    if (had !== undefined && (await hasLinks(had.held))) return
    const opening = StagingArea.open(this.#made.held, workName(source), this.#shown, this.#works)
    this.#works.set(source, await onTarget(this.#shown, opening))
    await had?.held.close()
  }

  /** True: the target's directory is the mirror's to remove. */
  get createdTarget(): boolean {
    return this.#state.createdTarget
  }

  /** The entries of the target that this mirror, or one before it, made, and what tells the inodes that they may have. */
  get made(): ReadonlyMap<string, readonly string[]> {
    return this.#state.made
  }

  /** Notes down which entries the target has or will have, before they are there. Throws if that fails and one is new. */
  async record(entries: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { made } = this.#state
    if (isSame(made, entries)) return
    const state = { ...this.#state, made: entries }
    try {
      await onTarget(this.#shown, writeStateFile(this.#made.held, state, this.#shown))
      this.#state = state
    } catch (error) {
      // On a full target. A name is enough while this process lives, and the next record mends it.
      for (const name of entries.keys()) if (!made.has(name)) throw error
    }
  }

  /** The place for what a pass over one of the sources makes ready, from {@link prepare} on. */
  work(source: number): StagingArea {
    const work = this.#works.get(source)
    if (work === undefined) throw new Error(`no place for source ${source}`)
    return work
  }

  /** Returns true if a file, or a directory with all in it, is ready to be published, for any source. */
  has(node: TargetNode): boolean {
    return [...this.#works.values()].some((work) => work.has(node))
  }

  /** Ends a pass: removes all that was made ready, and is neither published nor wanted. */
  async clear(source: number, wanted: ReadonlySet<TargetNode>): Promise<void> {
    await onTarget(this.#shown, this.work(source).clear(wanted))
  }

  async remove(): Promise<void> {
    const { held, name, lock } = this.#made
    try {
      await onTarget(this.#shown, removeStaging(this.#target, name, held, lock, true))
    } finally {
      await this.#close()
    }
  }

  /**
   * Leaves the note of the mirror's entries to the next mirror, this process's too. Leaves none that the next would not believe, since
   * the file system shows another owner or keeps no sticky bit (bindfs).
   */
  async leave(): Promise<void> {
    if (!(await this.#isBelieved())) return await this.remove()
    try {
      for (const source of this.#works.keys())
        await onTarget(this.#shown, removeTree(this.#made.held, workName(source)))
    } finally {
      await this.#close()
    }
  }

  async #isBelieved(): Promise<boolean> {
    const { held, lock } = this.#made
    const asked = Promise.all([held.stat(), lock.stat()])
    return await asked.then(
      ([directory, note]) => isOwn(directory) && isNote(note),
      () => false,
    )
  }

  async #close(): Promise<void> {
    const { held, lock } = this.#made
    for (const work of this.#works.values()) await work.held.close()
    this.#works.clear()
    // Waited for, unlike the close: the next start in this process must not find it locked.
    if (!lock.isClosed) await lock.calls.lock(lock.fd, LOCK_UN).catch(() => {})
    await lock[Symbol.asyncDispose]()
    await held.close()
  }
}

/** Returns true if nobody has removed a directory or file. NFS and FUSE no longer know a removed one; others say that it has no name. */
export async function hasLinks(held: DirectoryHandle | HeldFile): Promise<boolean> {
  const now = await held.stat().catch(except('ENOENT', 'ESTALE'))
  return now !== undefined && !wasRemoved(held.opened, now)
}

type Entries = ReadonlyMap<string, readonly string[]>

function union(all: readonly Entries[]): Entries {
  const entries = new Map<string, readonly string[]>()
  for (const each of all)
    for (const [name, inodes] of each) entries.set(name, [...(entries.get(name) ?? []), ...inodes])
  return entries
}

function isSame(a: Entries, b: Entries): boolean {
  return a.size === b.size && [...a].every(([name, inodes]) => b.get(name)?.join() === inodes.join())
}

function workName(source: number): string {
  return `${WORK_PREFIX}${source}`
}

/** The most starts, as another starting mirror may take a directory that is not locked yet for a dead mirror's. */
const ATTEMPTS = 5

async function makeStaging(target: DirectoryHandle, state: StagingState, shown: string): Promise<Made> {
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await tryToMake(target, state, shown)
    } catch (error) {
      // NFS and FUSE may have another word for it.
      if (!['ENOENT', 'ESTALE'].includes(codeOf(error)) || left === 1) throw error
    }
  }
}

/** Another start takes it for a mirror's when it has its state file, which it gets when it is locked. */
async function tryToMake(target: DirectoryHandle, state: StagingState, shown: string): Promise<Made> {
  const { calls } = target
  const name = stagingName()
  await calls.mkdir(target.at(name), 0o700)
  const held = await target.directory(name)
  let lock: HeldFile | undefined
  let isOurs = false
  try {
    await requireNew(target, held, shown)
    isOurs = true
    lock = await held.create(LOCK_FILE, NOTE_MODE)
    // Another start has it, or has removed it, whether or not it came to removing the directory.
    const isTaken = (await tryLock(calls, lock.fd)) === 'taken'
    if (isTaken || !(await hasLinks(lock))) throw new CallError(constants.errno.ENOENT, 'flock')
    await writeStateFile(held, state, shown)
    // Whatever the umask: a consumer of another user that walks the target recursively must not fail here. Secrets are below, in
    // `work`.
    await calls.chmod(held.fd, 0o755)
    return { name, held, lock }
  } catch (error) {
    if (isOurs) await removeStaging(target, name, held, lock, true).catch(() => {})
    await lock?.[Symbol.asyncDispose]()
    await held.close()
    throw error
  }
}
