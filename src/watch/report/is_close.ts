import { IN_CLOSE_WRITE } from '../../inotify/constants.ts'
import type { Change } from './change.ts'

/** Returns true if a writer has closed the file, and nothing else: each write has been told before. For callers that tell only what has changed. */
export const isClose = (change: Change<string | Buffer>): boolean =>
  change.type === 'modify' && change.mask === IN_CLOSE_WRITE
