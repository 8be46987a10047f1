// The built library, for programs that Node runs without a test runner. Its types are those of the sources.
import { Inotify } from '../../../../out/index.js'
import { linux } from '../../../../out/watch/linux.js'
import { Watcher } from '../../../../out/watch/watcher.js'

export const built = /** @type {import('./host.mjs').Library} */ (
  /** @type {unknown} */ ({ Watcher, linux, Inotify })
)
