import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'

export * from '../watch/surface.ts'

// An importer of this module will watch.
provideEngine(openEngine)
