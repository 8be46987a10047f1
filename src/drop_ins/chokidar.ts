import * as own from '../entries/chokidar.ts'
import { originalOf } from '../original.ts'

export const { FSWatcher, watch } = originalOf<typeof own>('inotify-bridge/chokidar', 'chokidar') ?? own
export default { watch, FSWatcher }
