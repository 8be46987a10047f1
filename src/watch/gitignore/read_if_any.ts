import { closeSync, constants, existsSync, openSync, readFileSync } from 'node:fs'

/**
 * Returns the text of a file; '' if there is none that can be read.
 *
 * @param encoding 'latin1': a character for each byte
 */
export function readIfAny(path: string, encoding: 'utf8' | 'latin1', followsLink = true): string {
  // Mostly there is none, and an error thrown costs more than this call.
  if (!existsSync(path)) return ''
  let fd: number | undefined
  try {
    // A FIFO of the name would hold the reader for ever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLink ? 0 : constants.O_NOFOLLOW))
    return readFileSync(fd, encoding)
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
