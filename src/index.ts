import { loadEngineBy } from './watch/engine_part.ts'

export * from './entries/diagnose.ts'
export * from './entries/inotify.ts'
export * from './entries/mirror.ts'
export * from './entries/publish.ts'
export * from './entries/reload.ts'
export * from './watch/surface.ts'

loadEngineBy(() => import('./watch/open_engine.ts'))
