import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AddonLoadError } from './errors.ts'

/** Where compiled files may be, and what to say where they are not. */
export interface Compiled {
  /** The package's own directory. */
  readonly moduleRoot: string
  /** Directories beneath it, as their names, the best first: built in the repository, built where it is installed, prebuilt. */
  readonly places: readonly (readonly string[])[]
  /** The paths of a file there. */
  paths(file: string): string[]
  /** None of them will do. */
  missing(what: string, file: string, cause?: unknown): AddonLoadError
}

const PLATFORM = `${process.platform}-${process.arch}`

/** Throws {@link AddonLoadError} where it is not known what this module's own path is. */
export function findCompiled(what: string): Compiled {
  // A bundler that makes CommonJS of it leaves nothing of import.meta.
  const here: string | undefined = import.meta.dirname
  if (here === undefined) throw new AddonLoadError(what, PLATFORM, [], BUNDLED, undefined)
  const moduleRoot = join(here, '..')
  const places = [
    ['build', 'Release'],
    ['native', 'build', 'Release'],
    ['prebuilds', PLATFORM],
  ]
  const paths = (file: string) => places.map((place) => join(moduleRoot, ...place, file))
  const missing = (what: string, file: string, cause?: unknown) =>
    new AddonLoadError(what, PLATFORM, paths(file), remedy(moduleRoot), cause)
  return { moduleRoot, places, paths, missing }
}

/**
 * Throws {@link AddonLoadError} where the addon must not even be loaded: Bun has a function of each name of libuv's, and most of them
 * abort the process; Deno lacks some.
 */
export function refuseOtherRuntimes(): void {
  const { bun, deno } = process.versions
  if (bun === undefined && deno === undefined) return
  const [name, version] = bun === undefined ? ['Deno', deno] : ['Bun', bun]
  const hint =
    `It calls functions of libuv that ${name} has not: run this with Node (>= 20.19). ` +
    'What needs no addon works here: diagnose(), formatMask(), the constants.'
  throw new AddonLoadError('addon', `${name} ${version}`, [], hint, undefined)
}

const BUNDLED =
  "This code has been bundled, and what is compiled cannot be: mark 'inotify-bridge' as external (esbuild: " +
  '--external:inotify-bridge; webpack: externals; Rollup, Rolldown and Vite: external), and install it where the bundle is run.'

function remedy(moduleRoot: string): string {
  if (process.platform !== 'linux')
    return 'inotify is a facility of the Linux kernel: there is none on this platform.'
  if (!isPackage(moduleRoot)) return BUNDLED
  return (
    'Build it where it is installed (g++, make and python3 are needed):\n' +
    '  npm install --no-save node-gyp@12 node-addon-api@8\n' +
    `  npx node-gyp rebuild -C ${join(moduleRoot, 'native')}`
  )
}

/** Whether it is this package's directory, and not what a bundle happens to lie in. */
function isPackage(directory: string): boolean {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')).name === 'inotify-bridge'
  } catch {
    return false
  }
}
