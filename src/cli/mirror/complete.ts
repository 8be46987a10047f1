import { printable } from '../../errors.ts'
import type { Mirror } from '../../mirror/mirror.ts'

/** The number of looks at entries that the first pass could not show, and that nobody is writing. */
const LOOKS = 3

/** The time for looks at a source that changes while it is read, in ms. */
const PATIENCE = 10_000

/**
 * Looks again, for a while, at entries that the first pass could not show: a file that was being written, a swap that was under way.
 * Ends when a complete version of each source is in the target, or when clearly none will be.
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

/** Returns, in a line, what keeps a complete version of the sources out of the target; undefined if nothing does. */
export function lackingIn({ lacking }: Mirror): string | undefined {
  return (
    lacking && printable(`incomplete: ${lacking.path === '' ? '' : `${lacking.path}: `}${lacking.reason}`)
  )
}
