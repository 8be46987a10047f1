import { constants } from 'node:os'
import { dirname } from 'node:path'
import { InotifyError, printable } from '../../errors.ts'
import { mountByMagic } from '../mount_of.ts'
import { type Mount, type MountRow, mountAt, parseMountinfo, toMount } from '../mountinfo.ts'
import { distinct, isSame } from '../mounts_on_path.ts'
import { errnoOf, hintOfStatx, statxError } from '../syscalls/statx_error.ts'
import { followSymlinks } from '../syscalls/symlinks.ts'
import type { PathInspector, Seen } from './path_inspector.ts'

/** A symlink on the way. */
export interface Hop {
  readonly path: string
  readonly to: string
  readonly mount: Mount
}

/** The way from a path to its target. */
export interface PathResolution {
  readonly realPath: string
  /** Every symlink followed, in order. */
  readonly links: readonly Hop[]
  /** The mount of each symlink, the same one twice in a row only once. */
  readonly hops: Mount[]
  /** The mount of the real path. */
  readonly mount: Mount
  /** All mounts on the way, each once. */
  readonly all: Mount[]
  /** The stat of the target. */
  readonly seen: Seen
  /** True: the target is a directory with a symlink '..data', a volume of the kubelet's. */
  readonly isVolume: boolean
}

/** The means to find the way. */
export interface Finder {
  readonly sight: PathInspector
  /** The text of /proc/self/mountinfo; '' where there is none. */
  readMountinfo(): string
}

/** The deadline for the whole way, in ms. */
export const PATIENCE_MS = 4000

/** A mount did not answer in time. Its thread is left behind. */
export class UnansweredError extends InotifyError {
  /** The mount by the mount table alone; undefined if the table does not have it. */
  readonly mount: Mount | undefined

  constructor(path: string, stuckAt: string, mount: Mount | undefined, ms: number) {
    const where = mount === undefined ? 'its mount' : `the mount at ${printable(mount.point)} (${mount.type})`
    const hint =
      `${where} has not answered for ${ms / 1000} s, when it was asked for ${printable(stuckAt)}: its server has stopped or cannot ` +
      `be reached; 'umount -l ${printable(mount?.point ?? 'MOUNTPOINT')}' detaches it`
    super({ errno: 'ETIMEDOUT', syscall: 'statx', path, hint })
    this.mount = mount
  }
}

/** The most names that are listed. A kubelet's volume has fewer: its ConfigMap is 1 MiB at most. */
const MOST_NAMES = 10_000

/**
 * Follows an existing path, every name on the way looked up anew. Rejects with InotifyError (syscall 'statx') if it cannot be
 * followed, and with {@link UnansweredError} if nobody answers.
 */
export async function resolveWithDeadline(
  path: string,
  finder: Finder,
  patience = PATIENCE_MS,
): Promise<PathResolution> {
  const asking = new Asking(path, finder, patience)
  const seenAt = new Map<string, Seen>()
  const { realPath, links } = await followSymlinks(path, async (entry) => {
    const seen = await asking.ask(entry, finder.sight.look(entry))
    seenAt.set(entry, seen)
    if (seen.kind !== 'symlink') return undefined
    asking.lastLink = entry
    return seen.link
  })
  // Asks for the target as the kernel follows it: the last name may be a link of /proc that cannot be read.
  const seen = await asking.ask(realPath, finder.sight.reach(realPath))
  const isVolume = seen.kind === 'directory' && (await asking.isVolume(realPath))
  const hops: Hop[] = []
  for (const link of links) {
    const id = seenAt.get(link.path)?.mount ?? 0
    hops.push({ ...link, mount: await asking.mountOf(dirname(link.path), id) })
  }
  const mount = await asking.mountOf(realPath, seen.mount)
  const mounts = hops.map((hop) => hop.mount)
  return {
    realPath,
    links: hops,
    hops: mounts.filter((hop, i) => i === 0 || !isSame(mounts[i - 1], hop)),
    mount,
    all: distinct([...mounts, mount]),
    seen,
    isVolume,
  }
}

/** Questions that have one deadline in common. */
class Asking {
  readonly #path: string
  readonly #finder: Finder
  readonly #patience: number
  readonly #until: number
  /** The symlink that was followed last; '' : none. */
  lastLink = ''

  constructor(path: string, finder: Finder, patience: number) {
    this.#path = path
    this.#finder = finder
    this.#patience = patience
    this.#until = performance.now() + patience
  }

  /** Returns the answer to a question about `at`, or throws at the deadline. */
  async ask<T>(at: string, answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      // A blocked loop runs timers before it hears of answers. So each question gets a tenth of the patience, at least.
      const left = Math.max(this.#patience / 10, this.#until - performance.now())
      timer = setTimeout(() => setImmediate(() => reject(this.#unanswered(at))), left)
    })
    try {
      return await Promise.race([answer, late])
    } catch (error) {
      throw this.#explained(error, at)
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Returns true if a directory has a symlink '..data'. Lists the directory first: a lookup of a missing name leaves a negative dentry,
   * which overlay keeps for ever, and which would hide what is made behind it later.
   */
  async isVolume(directory: string): Promise<boolean> {
    const { sight } = this.#finder
    const at = `${directory}/..data`
    try {
      const names = await this.ask(directory, sight.names(directory, MOST_NAMES))
      return names.includes('..data') && (await this.ask(at, sight.look(at))).kind === 'symlink'
    } catch (error) {
      if (error instanceof UnansweredError) throw error
      // '..data' is missing or cannot be seen. Then nobody here could use the volume.
      return false
    }
  }

  /** Finds the mount by the kernel's id. A path alone can give a wrong answer if something was mounted since. */
  async mountOf(path: string, id: number): Promise<Mount> {
    const find = () => (id > 0 ? this.#table().find((row) => row.id === id) : mountAt(this.#table(), path))
    // The id can be missing at first: the mount was made between the stat and the read of the table.
    const row = find() ?? find()
    return row === undefined
      ? mountByMagic(id, await this.ask(path, this.#finder.sight.fType(path)))
      : toMount(row)
  }

  #table(): readonly MountRow[] {
    return parseMountinfo(this.#finder.readMountinfo())
  }

  #unanswered(at: string): UnansweredError {
    const mount = mountAt(this.#table(), at)
    return new UnansweredError(this.#path, at, mount && toMount(mount), this.#patience)
  }

  /** Says which name of the path it was, and what can be done about it. */
  #explained(error: unknown, at: string): unknown {
    if (error instanceof InotifyError) return error
    const errno = errnoOf(error)
    return errno === undefined ? error : statxError(errno, this.#path, this.#hint(errno, printable(at)))
  }

  #hint(errno: number, at: string): string {
    const general = hintOfStatx(errno)
    const [, pid] = /^\/proc\/(\d+)(?:\/root(?:\/[^/]*)?)?$/.exec(at) ?? []
    // proc(5): PTRACE_MODE_READ_FSCREDS; with hidepid it is EPERM, or ENOENT of all of the process.
    if (pid !== undefined && (errno === EACCES || errno === EPERM)) {
      return (
        `uid ${process.getuid?.()} may not look into process ${pid}: only its user may, and root with CAP_SYS_PTRACE; run as that user, or as root ` +
        "(runAsUser: 0) with 'kubectl debug --profile=sysadmin'"
      )
    }
    if (errno === ENOENT && at === `/proc/${pid}`) return `no process ${pid} is to be seen here`
    if (errno === ENOENT) {
      const link = printable(this.lastLink)
      const how = link ? `the symlink ${link} leads to ${at}, which is not there` : `there is no ${at}`
      return `${how}; make it`
    }
    if (errno === EACCES) return `uid ${process.getuid?.()} may not look for ${at}; ${general}`
    if (errno === ENOTDIR) return `${dirname(at)} is no directory`
    return general === '' ? `asked for ${at}` : `asked for ${at}; ${general}`
  }
}

const { ENOENT, EACCES, ENOTDIR, EPERM } = constants.errno
