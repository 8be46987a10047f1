import { describe, test } from 'vitest'
import type { CacheMode } from './daemon.ts'
import { changes, overlay, readers, swaps } from './promised.ts'
import { withGuest } from './suite.ts'

/** What is promised of a share that the host changes, whatever the guest's kernel remembers of it. */
export function virtiofs(cache: CacheMode, { rust = false } = {}): void {
  withGuest(`virtiofs${rust ? ' of Rust' : ''}, cache=${cache}`, { cache, rust }, (run) => {
    describe("the kubelet's swap", () => swaps(cache, run))
    describe('watch()', () => changes(cache, run))
    describe('a reader that does nothing else', () => readers(cache, run))
    test("flat files in an overlay's lower: what overlay shows arrives, what it cannot is said", () =>
      overlay(cache, run))
  })
}
