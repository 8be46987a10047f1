import { chmod, mkdir, mkdtemp, rmdir, unlink } from 'node:fs/promises'
import { InotifyError } from '../errors.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { codeOf } from './interrupted.ts'
import { identify, isAlive, type Ledger, readLedger, writeLedger } from './ledger.ts'
import { onTarget } from './safe_copy.ts'
import type { TargetFile } from './tree.ts'

/** Entries of a target that are a mirror's own and not content. */
export const STAGING_PREFIX = '.inotify-bridge-'

/**
 * The directory in which everything is made ready before it is renamed into place. It lies inside the target, since only
 * there rename(2) is sure to work when the target is a mount of its own; a watcher of the target sees one CREATE when the
 * mirror starts and nothing of what happens in it.
 */
export class Staging {
  readonly #target: HeldDirectory
  readonly #shown: string
  readonly #name: string
  readonly #owner: string
  readonly #createdTarget: boolean
  #recorded: ReadonlySet<string>
  #work: Work | undefined

  private constructor(target: HeldDirectory, shown: string, name: string, ledger: Ledger) {
    this.#target = target
    this.#shown = shown
    this.#name = name
    this.#owner = ledger.owner
    this.#createdTarget = ledger.createdTarget
    this.#recorded = new Set(ledger.made)
  }

  /**
   * Makes the staging directory, takes over from mirrors of this target that were killed, and throws EBUSY if one is
   * running.
   */
  static async open(target: HeldDirectory, shown: string, createdTarget: boolean): Promise<Staging> {
    const leftovers = await stagingsIn(target)
    const inherited = await Promise.all(leftovers.map((name) => inherit(target, name, shown)))
    const ledger = {
      owner: (await identify(process.pid)) ?? '',
      createdTarget: createdTarget || inherited.some((left) => left?.createdTarget),
      made: inherited.flatMap((left) => left?.made ?? []),
    }
    const name = await onTarget('mkdtemp', shown, makeStaging(target, ledger))
    try {
      // Of two that start at one time, the one that comes here last sees the other.
      for (const other of await stagingsIn(target))
        if (other !== name && !leftovers.includes(other)) await inherit(target, other, shown)
    } catch (error) {
      await removeTree(target, name)
      throw error
    }
    // Only now: being killed before this line leaves what was inherited for the next.
    for (const leftover of leftovers) await onTarget('rmdir', shown, removeTree(target, leftover))
    return new Staging(target, shown, name, ledger)
  }

  /** Whether the target's directory is the mirror's to remove. */
  get createdTarget(): boolean {
    return this.#createdTarget
  }

  /** The entries of the target that this mirror, or a killed one before it, made. */
  get made(): Iterable<string> {
    return this.#recorded
  }

  /** Notes down which entries the target has or will have, before they are made. Throws if that fails and one is new. */
  async record(names: ReadonlySet<string>): Promise<void> {
    const known = [...names].every((name) => this.#recorded.has(name))
    if (known && names.size === this.#recorded.size) return
    try {
      await this.#write(this.#owner, [...names])
      this.#recorded = names
    } catch (error) {
      // On a full target. One name too many does no harm until somebody else uses it.
      if (!known) throw error
    }
  }

  /** The place for this pass's work, made when it is first asked for. */
  async work(): Promise<Work> {
    this.#work ??= await onTarget('mkdir', this.#shown, Work.open(this.#target, this.#name, this.#shown))
    return this.#work
  }

  /** Ends a pass: what was staged and not published is removed. */
  async clear(): Promise<void> {
    const work = this.#work
    if (work === undefined) return
    this.#work = undefined
    await work.held.close()
    await using staging = await onTarget('open', this.#shown, this.#target.directory(this.#name))
    await onTarget('unlink', this.#shown, removeTree(staging, 'work'))
  }

  async remove(): Promise<void> {
    await this.clear()
    await onTarget('unlink', this.#shown, removeTree(this.#target, this.#name))
  }

  /** Leaves everything as if this process had been killed, to the mirror that comes next, this process's too. */
  async abandon(): Promise<void> {
    await this.clear()
    await this.#write('', [...this.#recorded])
  }

  #write(owner: string, made: readonly string[]): Promise<void> {
    const ledger = { owner, createdTarget: this.#createdTarget, made }
    return onTarget('write', this.#shown, writeLedger(this.#target.entry(this.#name), ledger))
  }
}

/** What one pass has staged. */
export class Work {
  readonly held: HeldDirectory
  /** How the target is called in messages. */
  readonly shown: string
  /** Files that are ready to be published, by the entries they are the content of. */
  readonly files = new Map<TargetFile, string>()
  #count = 0

  private constructor(held: HeldDirectory, shown: string) {
    this.held = held
    this.shown = shown
  }

  static async open(target: HeldDirectory, staging: string, shown: string): Promise<Work> {
    await using parent = await target.directory(staging)
    // A pass that could not clear up behind itself leaves it.
    await removeTree(parent, 'work')
    await mkdir(parent.entry('work'), 0o700)
    return new Work(await parent.directory('work'), shown)
  }

  /** A path in the work directory that nothing has yet. */
  next(): string {
    return this.held.entry(String(this.#count++))
  }
}

/** Removes an entry and all beneath it; symlinks are removed, not followed. It need not exist. */
export async function removeTree(parent: HeldDirectory, name: string): Promise<void> {
  try {
    await unlink(parent.entry(name))
    return
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    // unlink(2) of a directory: EISDIR on Linux, EPERM by POSIX.
    if (!['EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  }
  {
    await using held = await parent.directory(name)
    for (const child of await held.names()) await removeTree(held, child.toString())
  }
  await rmdir(parent.entry(name))
}

async function stagingsIn(target: HeldDirectory): Promise<string[]> {
  return (await target.names()).map(String).filter((name) => name.startsWith(STAGING_PREFIX))
}

async function makeStaging(target: HeldDirectory, ledger: Ledger): Promise<string> {
  const path = await mkdtemp(target.entry(STAGING_PREFIX))
  const name = path.slice(path.lastIndexOf('/') + 1)
  try {
    // A consumer of another user that walks the target recursively must not fail here; the secrets are below, in `work`.
    await chmod(path, 0o755)
    await writeLedger(path, ledger)
  } catch (error) {
    await removeTree(target, name)
    throw error
  }
  return name
}

async function inherit(target: HeldDirectory, name: string, shown: string): Promise<Ledger | undefined> {
  const ledger = await readLedger(target.entry(name))
  if (ledger === undefined || !(await isAlive(ledger))) return ledger
  throw new InotifyError({
    errno: 'EBUSY',
    syscall: 'mirror',
    path: shown,
    hint: 'another mirror writes to this target: give each a target of its own',
  })
}
