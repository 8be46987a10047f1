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

/** Provides the engine, which comes with `inotify-bridge/watch`. */
export function provideEngine(open: OpenEngine): void {
  provided = open
}

/**
 * Sets the loader for the first watch(), since the engine is most of what there is to load. An entry
 * point calls this, not this file: so a bundle of `inotify-bridge/watch` is one file.
 */
export function loadEngineBy(loader: typeof load): void {
  load = loader
}

/** Returns the engine; undefined: it is still to be loaded. */
export function providedEngine(): OpenEngine | undefined {
  if (provided === undefined && load !== undefined) provided = requiredEngine()
  return provided
}

/** The engine's file beside this one, which scripts/build-ts.mjs puts in; missing where nothing has been built. */
declare const INOTIFY_BRIDGE_ENGINE: string | undefined

/**
 * Loads the engine within the call, so that watch() can look at once: where Node may require() a module
 * (20.19, 22.12, unless told not to). undefined: not possible so, as in a bundle; import() says what is wrong.
 */
function requiredEngine(): OpenEngine | undefined {
  try {
    const require = createRequire(import.meta.url)
    const part = require(INOTIFY_BRIDGE_ENGINE as string) as EnginePart
    // In a bundle, require() may find the unbundled package, whose errors are other classes.
    return part.InotifyError === InotifyError ? part.openEngine : undefined
  } catch {
    return undefined
  }
}

/** Loads the engine if nobody has. Rejects as loadPart() does. */
export async function loadEngine(): Promise<OpenEngine> {
  if (provided === undefined) {
    if (load === undefined)
      throw new Error("watch() has been left out of this bundle: import it from 'inotify-bridge/watch'")
    provided = (await loadPart(load)).openEngine
  }
  return provided
}
