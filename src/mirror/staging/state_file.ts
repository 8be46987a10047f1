import { InotifyError } from '../../errors.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { orAbsent } from '../source/errors.ts'
import { isNote, NOTE_MODE } from './own.ts'

/**
 * Bytes of a state file at most. 65,536 entries with names of 40 bytes fit, also while each is about to be replaced and has two inodes; without
 * a bound a sparse file of gigabytes would be read by whoever comes next.
 */
const MOST = 8 * 1024 * 1024

const NAME = 'ledger'
const DRAFT = 'ledger.tmp'
/** Names that a state file has in a staging directory, in the order in which they go: without the first there is none. */
export const STATE_FILES: readonly [string, string] = [NAME, DRAFT]

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
    await using file = await staging.file(NAME)
    if (!isNote(file.opened) || file.opened.size > MOST) return undefined
    return parseLedger((await file.calls.read(file.fd, MOST)).toString())
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
  if (text.length > MOST)
    throw new InotifyError({
      errno: 'EFBIG',
      syscall: 'mirror',
      path: shown,
      hint: `${made.length} entries are more than the mirror can note down as its own: mirror fewer, or with shorter names`,
    })
  await calls.unlink(staging.at(DRAFT)).catch(() => {})
  {
    await using file = await staging.create(DRAFT, NOTE_MODE)
    await calls.write(file.fd, text)
  }
  await calls.rename(staging.at(DRAFT), staging.at(NAME))
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
