// Loads the engine as src/index.ts does, for tests that import watch() alone.
import { loadEngineBy } from '../../src/watch/engine_part.ts'

loadEngineBy(() => import('../../src/watch/open_engine.ts'))
