import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { here, otherRuntime, PLATFORM } from './compiled.ts'
import { AddonLoadError } from './errors.ts'
import { warn } from './warning.ts'

/**
 * Returns true if a drop-in is the module that it replaces: on other platforms than Linux, and under Bun and Deno, which cannot load the addon. On Linux a
 * process warning says so: who asks for the drop-in there may need more than the original reports.
 */
export function handsOver(dropIn: string, original: string): boolean {
  if (process.platform !== 'linux') return true
  const runtime = otherRuntime()
  if (runtime === undefined) return false
  warn(
    'INOTIFY_BRIDGE_HAND_OVER',
    `${dropIn} hands over to ${original} under ${runtime}, which hears nothing on some mounts: run this with Node (>= 20.19)`,
  )
  return true
}

/** Returns the package that a drop-in replaces, if the drop-in {@link handsOver}. Throws {@link AddonLoadError} if that package is not installed. */
export function originalOf<DropIn>(dropIn: string, original: string): DropIn | undefined {
  if (!handsOver(dropIn, original)) return undefined
  const refused = (why: string, cause?: unknown) => {
    const hint = `${dropIn} hands over to ${original} there, ${why}`
    return new AddonLoadError('addon', otherRuntime() ?? PLATFORM, [], hint, cause)
  }
  const require = createRequire(resolve(here ?? '.', 'any.js'))
  let file: string
  try {
    file = require.resolve(original)
  } catch (cause) {
    throw refused(`which is not installed: npm install ${original}`, cause)
  }
  // packages/ has such modules for overrides: theirs and ours would load each other.
  if (readFileSync(file, 'utf8').includes(dropIn))
    throw refused('and an override puts inotify-bridge in its place: leave out the override there')
  return require(file) as DropIn
}
