import { readFileSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { addonOrError } from '../addon.ts'
import { AddonLoadError } from '../errors.ts'
import { typeByMagic } from './magic.ts'
import { type Mount, type MountRow, mountAt, parseMountinfo, toMount } from './mountinfo.ts'
import { asStatxError, statxError } from './syscalls/statx_error.ts'

/** Finds the mount of an existing path, symlinks followed. */
export type MountLookup = (path: string | Buffer) => Mount

/** The questions of a lookup to the system. */
export interface MountSystem {
  /** The mount's id as the addon gives it: 0 if the kernel does not say, or a negative errno. */
  mountId(path: string | Buffer): number
  /** The text of /proc/self/mountinfo. */
  readMountinfo(): string
  realPath(path: string | Buffer): string
  /** f_type of statfs(2). */
  fType(path: string | Buffer): number | bigint
}

const linux: MountSystem = {
  mountId(path) {
    const addon = addonOrError()
    return addon instanceof AddonLoadError ? 0 : addon.mountId(path)
  },
  // Lossy for names that are not UTF-8. So is realPath, with which the names are compared.
  readMountinfo: () => readFileSync('/proc/self/mountinfo', 'utf8'),
  realPath: (path) => realpathSync.native(path),
  fType: (path) => statfsSync(path, { bigint: true }).type,
}

/**
 * Returns the mount of an existing path, symlinks followed. Reads the mount table anew at each call, because mounts come and go without
 * an event that would tell.
 *
 * Asks the kernel for the mount's id: st_dev is no key (btrfs and overlay show others than mountinfo does), and a path alone can be
 * answered wrongly when something was mounted since. Throws an InotifyError as statx(2) fails.
 */
export const mountOf: MountLookup = (path) => findMount(path, linux)

/** Returns true if a path has another mount than its directory, symlinks followed. */
export function isMountPoint(path: string): boolean {
  const [own, around] = [linux.mountId(path), linux.mountId(dirname(path))]
  if (own !== 0) return own > 0 && around > 0 && own !== around
  // The kernel does not tell mounts (before Linux 5.8).
  const real = linux.realPath(path)
  return rowsOf(linux).some(({ point }) => point === real)
}

/** Returns the id of an existing path's mount, symlinks followed; 0 if the kernel does not say. Throws as {@link mountOf}. */
export const mountIdAt = (path: string | Buffer): number => mountIdOf(path, linux)

/** Returns the mount with this id, if it is in the mount table. */
export function mountById(id: number): Mount | undefined {
  return rowsOf(linux).find((row) => row.id === id)
}

/** {@link mountOf} on a given system. */
export function findMount(path: string | Buffer, system: MountSystem): Mount {
  const id = mountIdOf(path, system)
  const row = id > 0 ? rowById(id, system) : mountAt(rowsOf(system), realPathOf(path, system))
  return row === undefined
    ? mountByMagic(
        id,
        asStatx(path, () => system.fType(path)),
      )
    : toMount(row)
}

/**
 * Returns the row of an id, and undefined for an unknown id: the caller must not go by the path then. The mount is of another namespace
 * (/proc/<pid>/root/...), and the same path in this namespace's table is a different mount.
 */
function rowById(id: number, system: MountSystem): MountRow | undefined {
  const find = () => rowsOf(system).find((row) => row.id === id)
  // The id can be missing at first: the mount was made between the two questions.
  return find() ?? find()
}

/** Returns the mount table, which is empty without /proc: in a chroot, or a sandbox. */
function rowsOf(system: MountSystem): readonly MountRow[] {
  try {
    return parseMountinfo(system.readMountinfo())
  } catch {
    return []
  }
}

/** Returns a mount by its magic number, for ids that the table lacks. The type is a good guess, the rest is unknown. */
export function mountByMagic(id: number, fType: number | bigint): Mount {
  const type = typeByMagic(fType) ?? 'unknown'
  return { id, point: '', root: '', type, source: '', options: [] }
}

function mountIdOf(path: string | Buffer, system: MountSystem): number {
  const id = system.mountId(path)
  if (id >= 0) return id
  throw statxError(-id, path)
}

function realPathOf(path: string | Buffer, system: MountSystem): string {
  return asStatx(path, () => system.realPath(path))
}

function asStatx<T>(path: string | Buffer, call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw asStatxError(error, path)
  }
}
