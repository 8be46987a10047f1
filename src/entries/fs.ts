import { loadEngineBy } from '../watch/engine_part.ts'

export { unwatchFile, watchFile } from 'node:fs'
export type { FSWatcher } from '../fs/fs_watcher.ts'
export type { FSWatchIgnore } from '../fs/ignore.ts'
export * as promises from '../fs/promises.ts'
export { type FSWatchListener, type FSWatchOptions, watch } from '../fs/watch.ts'

loadEngineBy(() => import('../watch/open_engine.ts'))
