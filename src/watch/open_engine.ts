import { Engine } from './engine/engine.ts'
import { linux } from './linux.ts'
import type { Settings } from './options.ts'
import type { WatchListener } from './report/reporter.ts'
import type { WatchSystem } from './system.ts'

// Identifies the copy of this package: see engine_part.ts.
export { InotifyError } from '../errors.ts'

/** @param system undefined: Linux */
export function openEngine(
  settings: Settings,
  system: WatchSystem | undefined,
  listener: WatchListener,
): Engine {
  return new Engine(settings, system ?? linux, listener)
}
