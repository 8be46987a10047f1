import { printable } from '../../errors.ts'
import type { Mirror } from '../../mirror/mirror.ts'

/** How often what the first pass could not show, and nobody is writing, is looked at again. */
const LOOKS = 3

/** ms for which a source that changes while it is read is looked at again. */
const PATIENCE = 10_000

/**
 * Looks again, for a while, at what the first pass could not show: a file that was being written, a swap that was under way. Until a
 * complete version of each source is in the target, or it is clear that none will be.
 */
export async function completed(mirrored: Mirror, signal?: AbortSignal): Promise<void> {
  const until = performance.now() + PATIENCE
  for (let looks = 0; performance.now() < until; looks++) {
    const { lacking, isHeld } = mirrored
    if (lacking === undefined || isHeld || signal?.aborted) return
    if (!lacking.isPassing && looks >= LOOKS) return
    await mirrored.refresh()
  }
}

/** What keeps a complete version of the sources from being in the target, in a line; undefined if nothing does. */
export function lackingIn({ lacking }: Mirror): string | undefined {
  return (
    lacking && printable(`incomplete: ${lacking.path === '' ? '' : `${lacking.path}: `}${lacking.reason}`)
  )
}
