import type { BigIntStats } from 'node:fs'
import { chmod, chown, type FileHandle, open, stat } from 'node:fs/promises'
import { InotifyError } from '../errors.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { codeOf, Torn } from './interrupted.ts'
import { type StatKey, sameKey, statKey } from './tree.ts'

const CHUNK = 256 * 1024

/** A path of the target: as the kernel is given it, by way of a held directory, and as people know it. */
export interface Place {
  readonly path: string
  readonly shown: string
}

/**
 * Copies a regular file of the source to a new file, with its owner and mode, and returns the SHA-256 of what it held.
 * Throws {@link Torn} if the file is not the version `key` before, during and after the read; an {@link InotifyError} if
 * the copy cannot be written.
 */
export async function copyFile(from: HeldDirectory, name: string, key: StatKey, to: Place): Promise<string> {
  await using source = await openVersion(from, name, key)
  // Nobody but the owner may read it while its owner and mode are not yet those of the source.
  await using copy = await onTarget('open', to.shown, open(to.path, 'wx', 0o600))
  const digest = await readVersion(source, key, (chunk) => onTarget('write', to.shown, writeAll(copy, chunk)))
  await copyAttributes({ path: `/proc/self/fd/${copy.fd}`, shown: to.shown }, key)
  return digest
}

/** The SHA-256 of a regular file that must be the version `key`; else {@link Torn}. */
export async function digestFile(from: HeldDirectory, name: string, key: StatKey): Promise<string> {
  await using source = await openVersion(from, name, key)
  return await readVersion(source, key, async () => {})
}

/** Gives a file or directory of the target the owner and mode of the source's. The path must be that of a descriptor. */
export async function copyAttributes({ path, shown }: Place, { uid, gid, mode }: StatKey): Promise<void> {
  const had = await onTarget('stat', shown, stat(path))
  let owned = had.uid === Number(uid) && had.gid === Number(gid)
  if (!owned) {
    try {
      await chown(path, Number(uid), Number(gid))
      owned = true
    } catch (error) {
      // EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know: mirrored as one's own then.
      if (!['EPERM', 'EINVAL'].includes(codeOf(error))) throw targetError('chown', shown, error)
    }
  }
  // A set-id program would have its rights in the target though the source's mount is nosuid, as FUSE always is for a user.
  // On a directory the bits give no rights, but would those of another group. chown(2) clears them, hence the order.
  const bits = Number(mode) & (owned && had.isDirectory() ? 0o7777 : 0o777)
  await onTarget(
    'chmod',
    shown,
    chmod(path, had.isDirectory() ? bits | ownBits(owned ? Number(uid) : had.uid) : bits),
  )
}

/**
 * What the mirror needs itself to maintain a directory: without root's rights it could not write into a 0555 one. As the
 * owner it could take that right at any time, so this gives nothing to anybody.
 */
function ownBits(owner: number): number {
  const user = process.geteuid?.()
  return user !== 0 && user === owner ? 0o700 : 0
}

/** Awaits a call on the target and turns its failure into an {@link InotifyError}: errors of the source stay Node's. */
export async function onTarget<T>(syscall: string, shown: string, call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw targetError(syscall, shown, error)
  }
}

function targetError(syscall: string, path: string, error: unknown): InotifyError {
  const errno =
    error instanceof Error && 'errno' in error && typeof error.errno === 'number' ? -error.errno : 'EIO'
  const hint =
    codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
      ? 'the target is full: give its tmpfs a larger size=, the last good version is kept meanwhile'
      : 'the target could not be written: the last good version is kept, and it is tried again at the next pass'
  return new InotifyError({ errno, syscall, path, hint })
}

async function openVersion(from: HeldDirectory, name: string, key: StatKey): Promise<FileHandle> {
  const file = await from.file(name)
  if (file === undefined) throw new Torn(`${name} is no regular file any more`)
  try {
    checkVersion(await file.stat({ bigint: true }), key)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Reads exactly the bytes that `key` announces: one more or one less means that somebody is writing. */
async function readVersion(
  file: FileHandle,
  key: StatKey,
  take: (chunk: Buffer) => Promise<void>,
): Promise<string> {
  // Loaded here: its 5 MiB of memory are not for those who came for the raw events.
  const { createHash } = await import('node:crypto')
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, Number(key.size) + 1))
  // The sum of all sizes is within the limit on bytes, so stopping at the size caps what a growing file can cost.
  for (let left = Number(key.size); ; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, left + 1))
    if (bytesRead > left || (bytesRead === 0 && left > 0)) throw new Torn('the length is not the size')
    if (bytesRead === 0) break
    const chunk = buffer.subarray(0, bytesRead)
    hash.update(chunk)
    await take(chunk)
    left -= bytesRead
  }
  checkVersion(await file.stat({ bigint: true }), key)
  return hash.digest('base64')
}

function checkVersion(now: BigIntStats, key: StatKey): void {
  if (!sameKey(statKey(now), key)) throw new Torn('the file changed while it was read')
}

async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
}
