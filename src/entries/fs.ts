import { wholeFs } from '../fs/whole.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'

export { unwatchFile, watchFile } from 'node:fs'
export type { FSWatcher, FSWatchListener } from '../fs/fs_watcher.ts'
export type { FSWatchIgnore } from '../fs/ignore.ts'
/** @hidden */
export * as promises from '../fs/promises.ts'
export { type FSWatchOptions, watch } from '../fs/watch.ts'
export default wholeFs

// A tree is watched within the call that asks for it.
provideEngine(openEngine)
