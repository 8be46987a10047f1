import { IN_CLOSE_WRITE } from '../../inotify/constants.ts'
import type { Change } from './change.ts'

/** Somebody who had opened a file to write has closed it, and nothing else: each write has been told before. For those who tell what has changed alone. */
export const isClose = (change: Change<string | Buffer>): boolean =>
  change.type === 'modify' && change.mask === IN_CLOSE_WRITE
