import { printable } from '../../errors.ts'
import { Mirror } from '../../mirror/mirror.ts'
import { type FirstPass, type MirrorOptions, readArguments } from '../../mirror/options.ts'

/** The number of looks at entries that the first pass could not show, and that nobody is writing. */
const LOOKS = 3

/** The time for looks at a source that changes while it is read, in ms. */
const PATIENCE = 10_000

/**
 * Starts a mirror; returns undefined if `ended` resolves before its first pass is over. Later that ends no mirror: the copies stay when
 * the command ends.
 */
export async function startMirror(
  sources: string[],
  target: string,
  options: MirrorOptions,
  ended: Promise<unknown>,
  firstPass?: FirstPass,
): Promise<Mirror | undefined> {
  const starting = new AbortController()
  let isStarting = true
  void ended.then(() => isStarting && starting.abort())
  try {
    const all = readArguments(sources, target, { ...options, signal: starting.signal }, process.env)
    return await Mirror.start({ ...all, ...(firstPass && { firstPass }) })
  } catch (error) {
    if (error !== starting.signal.reason) throw error
    return undefined
  } finally {
    isStarting = false
  }
}

/**
 * Looks again, for a while, at entries that the first pass could not show: a file that was being written, a swap that was under way.
 * Resolves when a complete version of each source is in the target, when clearly none will be, or when `ended` does.
 */
export async function completed(mirrored: Mirror, ended: Promise<unknown>): Promise<void> {
  const until = performance.now() + PATIENCE
  const over = ended.then(() => true)
  for (let looks = 0; performance.now() < until; looks++) {
    const { lacking, isHeld } = mirrored
    if (lacking === undefined || isHeld || (!lacking.isPassing && looks >= LOOKS)) return
    if (await Promise.race([over, mirrored.refresh().then(() => false)])) return
  }
}

/** Returns, in a line, what keeps a complete version of the sources out of the target; undefined if nothing does. */
export function lackingIn({ lacking }: Mirror): string | undefined {
  return (
    lacking && printable(`incomplete: ${lacking.path === '' ? '' : `${lacking.path}: `}${lacking.reason}`)
  )
}
