import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
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

/** Throws {@link AddonLoadError} where this package is not to be found. */
export function findCompiled(what: string): Compiled {
  const moduleRoot = findRoot()
  if (moduleRoot === undefined) throw new AddonLoadError(what, PLATFORM, [], BUNDLED, undefined)
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

/** The directory of this package: the one that this module is in, or, where it is in a bundle, the one that is installed where that is run. */
function findRoot(): string | undefined {
  // A bundler that makes CommonJS of it leaves nothing of import.meta, and webpack says where the package was when the bundle was made.
  const here: string | undefined = import.meta.dirname
  if (here !== undefined && isPackage(join(here, '..'))) return join(here, '..')
  const program = process.argv[1]
  // Not from the working directory: whoever can write there would choose what is loaded.
  const starts = [here, program === undefined ? undefined : dirname(program)]
  return starts.map((start) => start && installedFor(start)).find((root) => root !== undefined)
}

/** Where node_modules has this package, for what is in a directory. */
function installedFor(directory: string): string | undefined {
  try {
    return dirname(createRequire(join(directory, 'any.js')).resolve('inotify-bridge/package.json'))
  } catch {
    return undefined
  }
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
  'This code has been bundled, and what is compiled cannot be: install inotify-bridge, of the same version, where the bundle is run ' +
  '(a node_modules beside it or above it).'

function remedy(moduleRoot: string): string {
  if (process.platform !== 'linux')
    return 'inotify is a facility of the Linux kernel: there is none on this platform.'
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
