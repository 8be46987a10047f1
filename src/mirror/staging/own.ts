import { randomBytes } from 'node:crypto'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isOwn, isPrivate } from '../../mounts/syscalls/ownership.ts'
import { failure } from '../../publish/failure.ts'
import { orAbsent } from '../source/errors.ts'

/** Names of entries of a target that are a mirror's own and not content: others may have a file with a similar name, which is. */
export const STAGING_NAME: RegExp = /^\.inotify-bridge-[0-9a-f]{12}$/

/** A name that nobody can foresee. */
export function stagingName(): string {
  return `.inotify-bridge-${randomBytes(6).toString('hex')}`
}

/**
 * The mode of a mirror's notes. The sticky bit means nothing on a file, and no copy of a source's has it: nobody can move mirrored
 * content to where a note is looked for.
 */
export const NOTE_MODE = 0o1600

/** Returns true for a note of a mirror of this user's. */
export function isNote(stat: FileStat): boolean {
  return stat.isFile() && stat.uid === effectiveUser() && (Number(stat.mode) & 0o7777) === NOTE_MODE
}

/**
 * Throws EPERM unless a directory that was made with mode 0700, and then opened by its name, is one that was just made: whoever may write
 * the one above can have put another there in between, which would be opened up, given away or removed.
 *
 * @param mayBeUsed asked where there is something in it already: whether that can be only root's or this user's, as it is where another
 *   mirror has found the directory as soon as it was made
 */
export async function requireNew(
  above: DirectoryHandle,
  made: DirectoryHandle,
  shown: string,
  mayBeUsed: () => Promise<boolean> = async () => false,
): Promise<void> {
  const { opened } = made
  const isOurs = async () => isOwn(opened) || (await uidOfNew(above)) === opened.uid
  const isUnused = async () => (await made.names(1)).length === 0 || (await mayBeUsed())
  if (isPrivate(opened) && (await isOurs()) && (await isUnused())) return
  const hint =
    'somebody has put a directory in the place of one that was just made: take from others the right to write there'
  throw failure('EPERM', 'mkdir', shown, hint)
}

/** Returns the owner of what this user makes. On NFS for root, and on a FUSE mount that maps users, that is somebody else. */
async function uidOfNew(directory: DirectoryHandle): Promise<bigint> {
  const name = stagingName()
  await using file = await directory.create(name, 0o600)
  await directory.calls.unlink(directory.at(name))
  return file.opened.uid
}

/**
 * Bytes of a state file at most. 65,536 entries with names of 40 bytes fit, also while each is about to be replaced and has two inodes; without
 * a bound a sparse file of gigabytes would be read by whoever comes next.
 */
const MOST_BYTES = 8 * 1024 * 1024

const LEDGER = 'ledger'
const LEDGER_DRAFT = 'ledger.tmp'
/** Names that a state file has in a staging directory, in the order in which they go: without the first there is none. */
export const STATE_FILES: readonly [string, string] = [LEDGER, LEDGER_DRAFT]

/** The note of a mirror in its staging directory for its successor. */
export interface StagingState {
  /** The inode number of the target's directory: the note speaks of no other. */
  readonly target: bigint
  /** True: the mirror made the target's directory. */
  readonly createdTarget: boolean
  /** The one entry of the directory that is mirrored to, if it is a single file; '' if it is all of it. */
  readonly only: string
  /** Entries of the target that the mirror made or was about to make, by name (a key, see name_key.ts: JSON escapes lone surrogates); with what tells the inodes that they may have. */
  readonly made: ReadonlyMap<string, readonly string[]>
}

/** The state file in a staging directory; undefined if it has none, or one that is not to be believed. */
export async function readStateFile(staging: DirectoryHandle): Promise<StagingState | undefined> {
  try {
    await using file = await staging.file(LEDGER)
    if (!isNote(file.opened) || file.opened.size > MOST_BYTES) return undefined
    return parseLedger((await file.calls.read(file.fd, MOST_BYTES)).toString())
  } catch (error) {
    return orAbsent(error)
  }
}

/** Replaces the state file. Atomically: being killed in here must not lose the earlier one. */
export async function writeStateFile(
  staging: DirectoryHandle,
  state: StagingState,
  shown: string,
): Promise<void> {
  const { calls } = staging
  const { target, createdTarget, only } = state
  const made = [...state.made].map(([name, inodes]) => [name, ...inodes])
  const text = Buffer.from(JSON.stringify({ target: String(target), createdTarget, only, made }))
  const hint = `${made.length} entries are more than the mirror can note down as its own: mirror fewer, or with shorter names`
  if (text.length > MOST_BYTES) throw failure('EFBIG', 'mirror', shown, hint)
  await calls.unlink(staging.at(LEDGER_DRAFT)).catch(() => {})
  {
    await using file = await staging.create(LEDGER_DRAFT, NOTE_MODE)
    await calls.write(file.fd, text)
  }
  await calls.rename(staging.at(LEDGER_DRAFT), staging.at(LEDGER))
}

/** Parses the text of a state file; undefined, or a SyntaxError, if it is none. */
export function parseLedger(text: string): StagingState | undefined {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) return undefined
  if (!('target' in value && 'createdTarget' in value && 'only' in value && 'made' in value)) return undefined
  const { target, createdTarget, only, made } = value
  if (typeof target !== 'string' || typeof createdTarget !== 'boolean' || typeof only !== 'string')
    return undefined
  if (!Array.isArray(made)) return undefined
  return { target: BigInt(target), createdTarget, only, made: new Map(made.flatMap(entryOf)) }
}

/** A name with a slash would lead out of the target. */
function entryOf(entry: unknown): Array<[string, string[]]> {
  if (!Array.isArray(entry)) return []
  const [name, ...inodes]: unknown[] = entry
  if (typeof name !== 'string' || name.includes('/') || ['', '.', '..'].includes(name)) return []
  return [[name, inodes.filter((inode) => typeof inode === 'string')]]
}
