import { createRequire } from 'node:module'
import { InotifyError } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import type { openEngine } from './open_engine.ts'

export type OpenEngine = typeof openEngine

interface EnginePart {
  openEngine: OpenEngine
  InotifyError: typeof InotifyError
}

let provided: OpenEngine | undefined
let load: (() => Promise<EnginePart>) | undefined

/** The engine is there: `inotify-bridge/watch` comes with it. */
export function provideEngine(open: OpenEngine): void {
  provided = open
}

/**
 * The engine is loaded by the first watch(), since it is most of what there is to load. An entry point says so, and not this file: who has a bundle made of
 * `inotify-bridge/watch` has one file made of it.
 */
export function loadEngineBy(loader: typeof load): void {
  load = loader
}

/** undefined: it is to be loaded. */
export function providedEngine(): OpenEngine | undefined {
  if (provided === undefined && load !== undefined) provided = requiredEngine()
  return provided
}

/** The file of the engine, beside this one, as scripts/build-ts.mjs has put it in; not there where nothing has been built. */
declare const INOTIFY_BRIDGE_ENGINE: string | undefined

/**
 * Loads it within the call, so that watch() can look at once: where Node may require() a module (20.19, 22.12, unless it is told not to). undefined: it cannot be had so, as in a bundle; what is
 * wrong, import() says.
 */
function requiredEngine(): OpenEngine | undefined {
  try {
    const require = createRequire(import.meta.url)
    const part = require(INOTIFY_BRIDGE_ENGINE as string) as EnginePart
    // From a bundle it may be that of the package that was bundled, whose errors are others.
    return part.InotifyError === InotifyError ? part.openEngine : undefined
  } catch {
    return undefined
  }
}

/** Rejects as loadPart() does. */
export async function loadEngine(): Promise<OpenEngine> {
  if (provided === undefined) {
    if (load === undefined)
      throw new Error("watch() has been left out of this bundle: import it from 'inotify-bridge/watch'")
    provided = (await loadPart(load)).openEngine
  }
  return provided
}
