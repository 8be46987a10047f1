import { randomBytes } from 'node:crypto'
import { InotifyError } from '../errors.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { removeTree } from '../mounts/remove_tree.ts'
import { codeOf } from './interrupted.ts'
import { identify, isAlive, type Ledger, readLedger, writeLedger } from './ledger.ts'
import { onTarget } from './safe_copy.ts'
import type { TargetFile } from './tree.ts'
import { Work } from './work.ts'

/** Entries of a target that are a mirror's own and not content. */
export const STAGING_PREFIX = '.inotify-bridge-'
/** Of one that is being made: it has no ledger yet, and says nothing about who mirrors. */
const UNBORN_PREFIX = `${STAGING_PREFIX}new-`
/** ms after which nobody is making it any more. */
const UNBORN_FOR = 60_000

/**
 * The directory in which everything is made ready before it is renamed into place. It lies inside the target, since only
 * there rename(2) is sure to work when the target is a mount of its own; a watcher of the target sees one CREATE when the
 * mirror starts and nothing of what happens in it.
 */
export class Staging {
  readonly #target: HeldDirectory
  readonly #held: HeldDirectory
  readonly #shown: string
  readonly #name: string
  readonly #owner: string
  readonly #createdTarget: boolean
  readonly #only: string
  #recorded: ReadonlySet<string>
  readonly #works = new Map<number, Promise<Work>>()

  private constructor(
    target: HeldDirectory,
    held: HeldDirectory,
    shown: string,
    name: string,
    ledger: Ledger,
  ) {
    this.#target = target
    this.#held = held
    this.#shown = shown
    this.#name = name
    this.#owner = ledger.owner
    this.#createdTarget = ledger.createdTarget
    this.#only = ledger.only
    this.#recorded = new Set(ledger.made)
  }

  /**
   * Makes the staging directory, takes over from mirrors of this target that were killed, and throws EBUSY if one is
   * running.
   *
   * @param only the one entry that is mirrored to, '' for the whole directory
   */
  static async open(
    target: HeldDirectory,
    { shown, createdTarget, only }: { shown: string; createdTarget: boolean; only: string },
  ): Promise<Staging> {
    const found = await stagingsIn(target)
    const left = new Map<string, Ledger | undefined>()
    for (const name of found) {
      const ledger = await inherit(target, name, only, shown)
      if (ledger !== 'of another entry') left.set(name, ledger)
    }
    const inherited = [...left.values()]
    const ledger = {
      owner: (await identify(process.pid)) ?? '',
      createdTarget: createdTarget || inherited.some((each) => each?.createdTarget),
      only,
      made: inherited.flatMap((each) => each?.made ?? []),
    }
    const name = await onTarget('mkdir', shown, makeStaging(target, ledger))
    try {
      // Of two that start at one time, the one that comes here last sees the other.
      for (const other of await stagingsIn(target))
        if (other !== name && !found.includes(other)) await inherit(target, other, only, shown)
    } catch (error) {
      await removeTree(target, name)
      throw error
    }
    await onTarget('rmdir', shown, removeUnborn(target))
    // Only now: being killed before this line leaves what was inherited for the next.
    for (const leftover of left.keys()) await onTarget('rmdir', shown, removeTree(target, leftover))
    const held = await onTarget('open', shown, target.directory(name))
    return new Staging(target, held, shown, name, ledger)
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

  /** The place for what a pass over one of the sources makes ready, made when it is first asked for and kept. */
  work(source: number): Promise<Work> {
    const had = this.#works.get(source)
    if (had !== undefined) return had
    const opening = Work.open(this.#held, workName(source), this.#shown, this.#works)
    const work = onTarget('mkdir', this.#shown, opening)
    this.#works.set(source, work)
    // Tried again by whoever asks next.
    work.catch(() => this.#works.delete(source))
    return work
  }

  /** Whether a file is ready to be published, whichever source it is of. */
  async has(file: TargetFile): Promise<boolean> {
    for (const work of this.#works.values())
      if ((await work.catch(() => undefined))?.files.has(file) === true) return true
    return false
  }

  /** What a pass has staged stays beyond its end, in place of what has stayed of its source before. */
  async keep(source: number): Promise<void> {
    const work = await this.#works.get(source)?.catch(() => undefined)
    work?.keep()
  }

  /** What has stayed goes with the next pass over its source. */
  async release(): Promise<void> {
    for (const work of this.#works.values()) (await work.catch(() => undefined))?.release()
  }

  /** Ends a pass: what was staged and neither published nor is to be kept is removed. */
  async clear(source: number): Promise<void> {
    const work = await this.#works.get(source)?.catch(() => undefined)
    if (work !== undefined) await onTarget('unlink', this.#shown, work.clear())
  }

  async remove(): Promise<void> {
    await this.#closeAll()
    await onTarget('unlink', this.#shown, removeTree(this.#target, this.#name))
  }

  /** Leaves everything as if this process had been killed, to the mirror that comes next, this process's too. */
  async abandon(): Promise<void> {
    for (const source of [...this.#works.keys()]) await this.clear(source)
    await this.#write('', [...this.#recorded])
    await this.#closeAll()
  }

  async #closeAll(): Promise<void> {
    for (const work of this.#works.values()) await (await work.catch(() => undefined))?.held.close()
    this.#works.clear()
    await this.#held.close()
  }

  async #write(owner: string, made: readonly string[]): Promise<void> {
    const ledger = { owner, createdTarget: this.#createdTarget, only: this.#only, made }
    await onTarget('write', this.#shown, writeLedger(this.#held, ledger))
  }
}

function workName(source: number): string {
  return `work${source}`
}

/** Those of mirrors, running or killed. */
async function stagingsIn(target: HeldDirectory): Promise<string[]> {
  const names = (await target.names()).map(String)
  return names.filter((name) => name.startsWith(STAGING_PREFIX) && !name.startsWith(UNBORN_PREFIX))
}

/** Removes what mirrors left that were killed while they made it. */
async function removeUnborn(target: HeldDirectory): Promise<void> {
  const names = (await target.names()).map(String)
  for (const name of names.filter((name) => name.startsWith(UNBORN_PREFIX))) {
    try {
      const age = Date.now() - Number((await target.lstat(name)).mtimeNs / 1_000_000n)
      if (age > UNBORN_FOR) await removeTree(target, name)
    } catch (error) {
      // It has been born.
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
}

/** Comes into being with its ledger: one without would seem to be left by a mirror that was killed, and two could run. */
async function makeStaging(target: HeldDirectory, ledger: Ledger): Promise<string> {
  const { calls } = target
  const random = randomBytes(6).toString('hex')
  const [unborn, name] = [`${UNBORN_PREFIX}${random}`, `${STAGING_PREFIX}${random}`]
  await calls.mkdir(target.at(unborn), 0o755)
  try {
    await using staging = await target.directory(unborn)
    // Whatever the umask: a consumer of another user that walks the target recursively must not fail here. Secrets are below, in
    // `work`.
    await calls.chmod(staging.fd, 0o755)
    await writeLedger(staging, ledger)
    await calls.rename(target.at(unborn), target.at(name))
  } catch (error) {
    await removeTree(target, unborn)
    throw error
  }
  return name
}

/** What a staging directory was left with; undefined where nothing can be read. Throws EBUSY if its mirror is running. */
async function inherit(
  target: HeldDirectory,
  name: string,
  only: string,
  shown: string,
): Promise<Ledger | 'of another entry' | undefined> {
  const ledger = await readLedgerOf(target, name)
  // Damaged, or it has gone meanwhile.
  if (ledger === undefined) return undefined
  const isAnother = ledger.only !== '' && only !== '' && ledger.only !== only
  if (isAnother) return 'of another entry'
  if (!(await isAlive(ledger))) return ledger
  throw new InotifyError({
    errno: 'EBUSY',
    syscall: 'mirror',
    path: shown,
    hint: 'another mirror writes to this target: give each a target of its own',
  })
}

async function readLedgerOf(target: HeldDirectory, name: string): Promise<Ledger | undefined> {
  try {
    await using staging = await target.directory(name)
    return await readLedger(staging)
  } catch {
    return undefined
  }
}
