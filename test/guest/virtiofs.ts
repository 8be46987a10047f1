import { describe, test } from 'vitest'
import type { CacheMode } from './daemon.ts'
import { changes, overlay, readers, swaps } from './promised.ts'
import { withGuest } from './suite.ts'

interface Played {
  rust?: boolean
  /** The intervals at which swaps are played. */
  intervals?: number[]
  /** Leaves overlay and readers out, for a mode that is much like another. */
  brief?: boolean
}

/** Tests the promises for a share that the host changes, in each cache mode of the guest's kernel. */
export function virtiofs(
  cache: CacheMode,
  { rust = false, intervals = [250], brief = false }: Played = {},
): void {
  // The name under which the figures are kept. The mode's own suite keeps others.
  const mode = brief && rust ? `${cache} of Rust` : cache
  withGuest(`virtiofs${rust ? ' of Rust' : ''}, cache=${cache}`, { cache, rust }, (run) => {
    describe("the kubelet's swap", () => swaps(mode, run, { intervals }))
    describe('watch()', () => changes(mode, run))
    if (brief) return
    test("flat files in an overlay's lower: what overlay shows arrives, what it cannot is said", () =>
      overlay(mode, cache, run))
    describe('a reader that does nothing else', () => readers(mode, run))
  })
}
