import { constants as fs } from 'node:fs'
import { lstat, readdir, readlink, stat, statfs } from 'node:fs/promises'
import { addonOrError } from '../../addon.ts'
import { AddonLoadError } from '../../errors.ts'
import type { FileStat } from '../syscalls/file_stat.ts'
import { AT_FDCWD, O_PATH, SyscallThread } from '../syscalls/syscall_thread.ts'

/** What is told of a path. */
export interface Seen {
  readonly kind: 'file' | 'directory' | 'symlink' | 'other'
  /** What a symlink says; '' of all else. */
  readonly link: string
  /** Hard links: 0 of a file that is gone and still mounted. */
  readonly links: bigint
  /** The id of its mount; 0 where nobody says. */
  readonly mount: number
  /** A number that two directories of one file system have in common. */
  readonly device: bigint
}

/** What diagnose() asks of the system about paths. Whoever answers may be a server that has stopped. */
export interface PathInspector {
  /** What lies at a path: no symlink at its end is followed. */
  look(path: string): Promise<Seen>
  /** What a path leads to. */
  reach(path: string): Promise<Seen>
  /** The first `most` names in a directory. */
  names(path: string, most: number): Promise<string[]>
  /** f_type of statfs(2). */
  fType(path: string): Promise<number>
  /** Asks nothing more; what has not been answered is left behind. */
  end(): void
}

/** By a thread of its own, which a dead mount may keep; without an addon by libuv's pool, and then nobody knows a mount's id. */
export function openPathInspector(): PathInspector {
  return addonOrError() instanceof AddonLoadError ? byNode : new SightByCalls()
}

/** The server is asked, whatever the kernel remembers: a file that is gone on the host is known by its link count alone. */
class SightByCalls implements PathInspector {
  readonly #calls = new SyscallThread()

  look(path: string): Promise<Seen> {
    return this.#calls.stat({ fd: AT_FDCWD, name: path, revalidate: true }).then(toSeen)
  }

  reach(path: string): Promise<Seen> {
    return this.#reach(path).then(toSeen)
  }

  async #reach(path: string): Promise<FileStat> {
    const { fd, stat } = await this.#calls.open(path, O_PATH)
    this.#calls.close(fd)
    return stat
  }

  async names(path: string, most: number): Promise<string[]> {
    const { fd } = await this.#calls.open(path, O_PATH | fs.O_DIRECTORY)
    const names = await this.#calls.names(fd, most)
    this.#calls.close(fd)
    return names.map(String)
  }

  async fType(path: string): Promise<number> {
    const { fd } = await this.#calls.open(path, O_PATH)
    const type = await this.#calls.fileSystem(fd)
    this.#calls.close(fd)
    return type
  }

  end(): void {
    this.#calls.end()
  }
}

const byNode: PathInspector = {
  async look(path) {
    const found = await lstat(path, { bigint: true })
    return toSeen({
      mode: found.mode,
      nlink: found.nlink,
      dev: found.dev,
      link: found.isSymbolicLink() ? await readlink(path) : '',
    })
  },
  reach: async (path) => toSeen(await stat(path, { bigint: true })),
  names: async (path, most) => (await readdir(path)).slice(0, most),
  fType: async (path) => (await statfs(path)).type,
  end() {},
}

interface Facts {
  readonly mode: bigint
  readonly nlink: bigint
  readonly dev: bigint
  readonly mount?: bigint
  readonly link?: string
}

function toSeen({ mode, nlink, dev, mount = 0n, link = '' }: Facts): Seen {
  return { kind: kindOf(Number(mode) & fs.S_IFMT), link, links: nlink, mount: Number(mount), device: dev }
}

function kindOf(type: number): Seen['kind'] {
  if (type === fs.S_IFREG) return 'file'
  if (type === fs.S_IFDIR) return 'directory'
  return type === fs.S_IFLNK ? 'symlink' : 'other'
}
