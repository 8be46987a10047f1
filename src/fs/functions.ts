import { loadAddon } from '../addon.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'

export * as promises from './promises.ts'
export { watch } from './watch.ts'

// inotify-bridge/register requires this file: it leaves Node's functions where they are if this throws.
loadAddon()
provideEngine(openEngine)
