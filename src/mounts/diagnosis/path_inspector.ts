import { constants as fs } from 'node:fs'
import { lstat, readdir, readlink, stat, statfs } from 'node:fs/promises'
import { addonOrError } from '../../addon.ts'
import { AddonLoadError } from '../../errors.ts'
import { AT_FDCWD, O_PATH, type Opened, SyscallThread } from '../syscalls/syscall_thread.ts'

/** The facts about a path. */
export interface Seen {
  readonly kind: 'file' | 'directory' | 'symlink' | 'other'
  /** The text of a symlink; '' for all else. */
  readonly link: string
  /** The number of hard links: 0 for a file that is gone and still mounted. */
  readonly links: bigint
  /** The id of its mount; 0 if the kernel does not tell it. */
  readonly mount: number
  /** The device number, which two directories of one file system share. */
  readonly device: bigint
}

/** diagnose()'s questions to the system about paths. A server that has stopped may be the one to answer them. */
export interface PathInspector {
  /** Stats a path without following a symlink at its end. */
  look(path: string): Promise<Seen>
  /** Stats the target of a path, symlinks followed. */
  reach(path: string): Promise<Seen>
  /** Returns the first `most` names in a directory. */
  names(path: string, most: number): Promise<string[]>
  /** Returns f_type of statfs(2). */
  fType(path: string): Promise<number>
  /** Asks nothing more. Calls without an answer are left behind. */
  end(): void
}

/** Inspects by a thread of its own, which a dead mount may keep. Without an addon by libuv's pool, which cannot tell a mount's id. */
export function openPathInspector(): PathInspector {
  return addonOrError() instanceof AddonLoadError ? byNode : byCalls()
}

/** Asks the server, whatever the kernel remembers: only the link count tells that a file is gone on the host. */
function byCalls(): PathInspector {
  const calls = new SyscallThread()
  const atTarget = async <T>(path: string, flags: number, ask: (held: Opened) => Promise<T>): Promise<T> => {
    const held = await calls.open(path, O_PATH | flags)
    try {
      return await ask(held)
    } finally {
      calls.close(held.fd)
    }
  }
  return {
    look: async (path) => toSeen(await calls.stat({ fd: AT_FDCWD, name: path, revalidate: true })),
    reach: (path) => atTarget(path, 0, async ({ stat }) => toSeen(stat)),
    names: (path, most) =>
      atTarget(path, fs.O_DIRECTORY, async ({ fd }) => (await calls.names(fd, most)).map(String)),
    fType: (path) => atTarget(path, 0, ({ fd }) => calls.fileSystem(fd)),
    end: () => calls.end(),
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
