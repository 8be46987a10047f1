// What was built of the library, for whom Node runs as it is: of the same types.
import { Inotify } from '../../../../out/index.js'
import { linux } from '../../../../out/watch/linux.js'
import { Watcher } from '../../../../out/watch/watcher.js'

export const built = /** @type {import('./host.mjs').Library} */ (
  /** @type {unknown} */ ({ Watcher, linux, Inotify })
)
