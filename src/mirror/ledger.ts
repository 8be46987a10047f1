import { readFile, readlink } from 'node:fs/promises'
import type { HeldDirectory } from '../mounts/held.ts'

/** Bytes read at once. */
const CHUNK = 64 * 1024

/** What a mirror notes down about itself in its staging directory, for the one that comes after it was killed. */
export interface Ledger {
  /** The process, see {@link identify}. */
  readonly owner: string
  /** Whether the target's directory was made by the mirror. */
  readonly createdTarget: boolean
  /** The one entry of the directory that is mirrored to, if it is a single file; '' if it is all of it. */
  readonly only: string
  /** Entries of the target that the mirror made or was about to make. */
  readonly made: readonly string[]
}

/**
 * A process, told apart from a later one with the same pid by its start time, and from one in another container by the
 * pid namespace. undefined if there is none with that pid.
 */
export async function identify(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // proc(5): starttime is field 22; comm, field 2, may hold blanks and parentheses, so count from its end.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return `${await readlink('/proc/self/ns/pid')} ${pid} ${started}`
  } catch {
    return undefined
  }
}

/** Whether the mirror that wrote the ledger still runs. One in another pid namespace, a restarted container's, cannot be seen. */
export async function isAlive({ owner }: Ledger): Promise<boolean> {
  return owner === (await identify(Number(owner.split(' ')[1])))
}

/** The ledger in a staging directory; undefined if its mirror was killed before it had one. */
export async function readLedger(staging: HeldDirectory): Promise<Ledger | undefined> {
  try {
    await using file = await staging.file('ledger')
    const chunks: Buffer[] = []
    do chunks.push(await file.calls.read(file.fd, CHUNK))
    while (chunks.at(-1)?.length !== 0)
    return parseLedger(JSON.parse(Buffer.concat(chunks).toString()))
  } catch {
    return undefined
  }
}

/** Replaces the ledger. Atomically: being killed in here must not lose the earlier one. */
export async function writeLedger(staging: HeldDirectory, ledger: Ledger): Promise<void> {
  const { calls } = staging
  await calls.unlink(staging.at('ledger.tmp')).catch(() => {})
  {
    await using file = await staging.create('ledger.tmp', 0o644)
    await calls.write(file.fd, Buffer.from(JSON.stringify(ledger)))
  }
  await calls.rename(staging.at('ledger.tmp'), staging.at('ledger'))
}

function parseLedger(value: unknown): Ledger | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!('owner' in value && 'createdTarget' in value && 'made' in value)) return undefined
  const { owner, createdTarget, made } = value
  const only = 'only' in value && typeof value.only === 'string' ? value.only : ''
  if (typeof owner !== 'string' || typeof createdTarget !== 'boolean' || !Array.isArray(made))
    return undefined
  // The target may be writable to others: a name with a slash must not lead anywhere else.
  const isEntry = (name: unknown) =>
    typeof name === 'string' && !name.includes('/') && !['', '.', '..'].includes(name)
  return { owner, createdTarget, only, made: made.filter(isEntry) }
}
