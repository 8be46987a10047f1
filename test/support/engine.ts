// As src/index.ts says it, for tests that import watch() by itself.
import { loadEngineBy } from '../../src/watch/engine_part.ts'

loadEngineBy(() => import('../../src/watch/open_engine.ts'))
