import { loadPart } from '../load_part.ts'
import type { openEngine } from './open_engine.ts'

export type OpenEngine = typeof openEngine

let provided: OpenEngine | undefined

/** `inotify-bridge/watch` comes with the engine; `inotify-bridge` has it loaded by the first watch(), since it is most of what there is to load. */
export function provideEngine(open: OpenEngine): void {
  provided = open
}

/** undefined: it is to be loaded. */
export function providedEngine(): OpenEngine | undefined {
  return provided
}

/** Rejects as loadPart() does. */
export async function loadEngine(): Promise<OpenEngine> {
  provided ??= (await loadPart(() => import('./open_engine.ts'))).openEngine
  return provided
}
