import { constants } from 'node:fs'
import { keysOf } from '../../name_key.ts'

const { S_IFMT, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK } = constants

/** The answer of statx(2) about an inode, exactly: times in ns since the epoch. */
export class FileStat {
  /** Packed, without a symlink's text. */
  static readonly BYTES = 88

  readonly ino: bigint
  /** Type and permission bits, as in st_mode. */
  readonly mode: bigint
  readonly uid: bigint
  readonly gid: bigint
  readonly size: bigint
  readonly mtimeNs: bigint
  readonly ctimeNs: bigint
  readonly nlink: bigint
  /** Its mount's id; 0 where the kernel (before 5.8) does not say. Device numbers do not tell bind mounts apart. */
  readonly mount: bigint
  readonly dev: bigint
  /** When it was made; 0 where the file system does not say. */
  readonly btimeNs: bigint
  /** The text of a symlink, if it was asked for by its name, as keys (see name_key.ts); else ''. */
  readonly link: string

  /** @param packed eleven u64 and a symlink's text, see Append in native/syscalls/perform.cc */
  constructor(packed: Buffer) {
    const field = (index: number) => packed.readBigUInt64LE(8 * index)
    this.ino = field(0)
    this.mode = field(1)
    this.uid = field(2)
    this.gid = field(3)
    this.size = field(4)
    this.mtimeNs = field(5)
    this.ctimeNs = field(6)
    this.nlink = field(7)
    this.mount = field(8)
    this.dev = field(9)
    this.btimeNs = field(10)
    this.link = keysOf(packed.subarray(FileStat.BYTES))
  }

  isFile(): boolean {
    return this.#type === S_IFREG
  }

  isDirectory(): boolean {
    return this.#type === S_IFDIR
  }

  isSymbolicLink(): boolean {
    return this.#type === S_IFLNK
  }

  isFIFO(): boolean {
    return this.#type === S_IFIFO
  }

  isSocket(): boolean {
    return this.#type === S_IFSOCK
  }

  /** A number that tells the mount of a directory from others: its id, or, where the kernel does not say the id, its device, which tells most of them. */
  get mountOrDevice(): bigint {
    return this.mount || this.dev
  }

  get #type(): number {
    return Number(this.mode) & S_IFMT
  }
}
