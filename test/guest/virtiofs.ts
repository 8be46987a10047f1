import { describe, test } from 'vitest'
import type { CacheMode } from './daemon.ts'
import { changes, overlay, readers, swaps } from './promised.ts'
import { withGuest } from './suite.ts'

interface Played {
  rust?: boolean
  /** At which swaps are played. */
  intervals?: number[]
  /** Neither overlay nor readers: for a mode that is much like another. */
  brief?: boolean
}

/** What is promised of a share that the host changes, whatever the guest's kernel remembers of it. */
export function virtiofs(
  cache: CacheMode,
  { rust = false, intervals = [250], brief = false }: Played = {},
): void {
  // By which the figures are kept: of the mode's own suite there are others.
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
