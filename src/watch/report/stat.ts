/** What is shown of something with `stat: true`: see stat(2). Of a link, its own. */
export interface Stat {
  /** Bytes. */
  size: number
  /** Its type and its permissions, as fs.Stats has them. */
  mode: number
  /** ms since the epoch, with fractions. */
  mtimeMs: number
  /** The inode number; of one beyond 2^53, 53 bits. */
  ino: number
}
