import { wholePromises } from '../fs/whole.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'

export { type FSWatchIteratorOptions, watch } from '../fs/promises.ts'
export default wholePromises()

// As of fs.ts.
provideEngine(openEngine)
