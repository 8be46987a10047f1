import { pathOf } from '../../name_key.ts'

const HEAD = 16

/** The flags of what a request has, unless that is `false`: see native/scan/requests.h. */
const FLAGS = {
  recursive: 1,
  watch: 2,
  stat: 4,
  names: 8,
  noFollow: 16,
  parentIno: 32,
  compare: 64,
  hash: 128,
  statOnly: 256,
  since: 512,
} satisfies { [Field in keyof WalkRequest]?: number }

const FLAGGED = Object.entries(FLAGS) as ReadonlyArray<[field: keyof typeof FLAGS, flag: number]>

/** A directory to be listed, or to be looked into. */
export interface WalkRequest {
  /** Absolute; symlinks in it are followed. As a key: see name_key.ts. */
  root: string
  /** True: a symlink at the root's last name is not followed: ENOTDIR. */
  noFollow?: boolean
  /** The path below the root, in which no symlink is followed; '' for the root itself. As a key. */
  rel: string
  /** Inode number, folded, of the directory that the last name of `rel` is in; ENOENT if it is another by now. */
  parentIno?: number
  /** True: all directories below are listed as well. */
  recursive?: boolean
  /** Each directory gets a watch, before it is listed. */
  watch?: boolean
  /** True: the walker looks at each entry, and the listing has its stat. */
  stat?: boolean
  /**
   * ms since the epoch, with `stat`: the walker looks at each entry, but the listing has the stat only of entries changed from then on, by their ctime. All
   * others are packed as in a listing without `stat`, so that an unchanged directory is the same byte for byte. Not with `compare`, `hash` or `names`: the
   * walk rejects with EINVAL.
   */
  since?: number
  /** True: the walker leaves out what is as it was: see {@link Walker.commit}. */
  compare?: boolean
  /** True: the walker reads each file through, and the stat has a digest of its content. */
  hash?: boolean
  /** True: in most passes the directory's own stat is enough, while that is the same: see {@link Walker.pollIdle}. */
  statOnly?: boolean
  /** The names to be looked at: nothing is listed. The listing has them in this order, without those at which there is nothing. */
  names?: readonly string[]
}

// Bytes. A larger block is given back: there may be millions of names, once.
const MOST_KEPT = 1024 * 1024

/** Packs requests as the addon takes them: see native/scan/requests.h. A burst of events has hundreds of walks a second: so they share a block. */
export class RequestEncoder {
  #block = Buffer.alloc(0)
  #end = 0

  /** Returns bytes that are good until the next call: the addon copies them. */
  encode(requests: readonly WalkRequest[]): Buffer {
    this.#end = 0
    for (const request of requests) this.#add(request)
    const encoded = this.#block.subarray(0, this.#end)
    if (this.#block.length > MOST_KEPT) this.#block = Buffer.alloc(0)
    return encoded
  }

  #add(request: WalkRequest): void {
    const { root, rel, parentIno, since, names } = request
    // The head, and the two numbers that may follow it.
    this.#reserve(HEAD + 8 + 8)
    const head = this.#end
    this.#end += HEAD
    let flags = 0
    for (const [field, flag] of FLAGGED)
      if (request[field] !== undefined && request[field] !== false) flags |= flag
    if (parentIno !== undefined) {
      this.#block.writeUInt32LE(parentIno % 2 ** 32, this.#end)
      this.#block.writeUInt32LE(Math.floor(parentIno / 2 ** 32), this.#end + 4)
      this.#end += 8
    }
    if (since !== undefined) this.#end = this.#block.writeDoubleLE(since, this.#end)
    const rootBytes = this.#write(root)
    const relBytes = this.#write(rel)
    // In one write: there may be thousands.
    const namesBytes = names === undefined ? 0 : this.#write(names.join('/'))
    this.#block.writeUInt32LE(flags, head)
    this.#block.writeUInt32LE(rootBytes, head + 4)
    this.#block.writeUInt32LE(relBytes, head + 8)
    this.#block.writeUInt32LE(namesBytes, head + 12)
  }

  #write(key: string): number {
    const name = pathOf(key)
    // A character of UTF-16 takes three bytes of UTF-8 at most.
    this.#reserve(name.length * 3)
    const bytes =
      typeof name === 'string' ? this.#block.write(name, this.#end) : name.copy(this.#block, this.#end)
    this.#end += bytes
    return bytes
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#block.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#block.length * 2, needed, 4096))
    this.#block.copy(larger, 0, 0, this.#end)
    this.#block = larger
  }
}
