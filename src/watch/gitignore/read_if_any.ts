import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs'

/**
 * Returns the text of a file; '' if there is none that can be read.
 *
 * @param encoding 'latin1': a character for each byte
 */
export function readIfAny(path: string, encoding: 'utf8' | 'latin1', followsLink = true): string {
  let fd: number | undefined
  try {
    // Mostly there is none, or .git is a directory, and an error thrown costs more than this call.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return ''
    // A FIFO that comes in its place would hold the reader for ever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLink ? 0 : constants.O_NOFOLLOW))
    return readFileSync(fd, encoding)
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
