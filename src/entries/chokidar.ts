import { FSWatcher, watch } from '../chokidar/fs_watcher.ts'
import { loadEngineBy } from '../watch/engine_part.ts'

export { FSWatcher, type FSWatcherEventMap, watch } from '../chokidar/fs_watcher.ts'
export type { Matcher, MatcherObject, MatchFunction } from '../chokidar/ignored.ts'
export type { AWF, ChokidarOptions, EmitArgs, EventName, FSWInstanceOptions } from '../chokidar/options.ts'
export default { watch, FSWatcher }

loadEngineBy(() => import('../watch/open_engine.ts'))
