import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { AddonLoadError, printable } from './errors.ts'

/** The places of compiled files, and the error for missing ones. */
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

export const PLATFORM = `${process.platform}-${process.arch}`

/** Throws {@link AddonLoadError} where this package is not to be found, and on other platforms than Linux. */
export function findCompiled(what: string): Compiled {
  refuseOtherPlatforms(what)
  const moduleRoot = findRoot()
  if (moduleRoot === undefined) throw new AddonLoadError(what, PLATFORM, [], bundled(), undefined)
  const places = [
    ['build', 'Release'],
    ['native', 'build', 'Release'],
    ['prebuilds', PLATFORM],
  ]
  const paths = (file: string) => places.map((place) => join(moduleRoot, ...place, file))
  const missing = (what: string, file: string, cause?: unknown) =>
    isForbidden(cause)
      ? new AddonLoadError(`${what} that may be loaded`, PLATFORM, [], ALLOW_ADDONS, cause)
      : new AddonLoadError(what, PLATFORM, paths(file), remedy(moduleRoot), cause)
  return { moduleRoot, places, paths, missing }
}

const isForbidden = (cause: unknown) => (cause as NodeJS.ErrnoException)?.code === 'ERR_DLOPEN_DISABLED'

const ALLOW_ADDONS =
  'Node forbids addons: start it without --no-addons, and where its permission model is in force (--permission) with --allow-addons'

/** The version of this code, which scripts/build-ts.mjs has put in; missing if nothing has been built. */
declare const INOTIFY_BRIDGE_VERSION: string

// esbuild and Rollup leave nothing of import.meta in a bundle that is CommonJS, but that has __dirname.
const own: string | undefined = import.meta.dirname
/** The directory of this module, or of the bundle that has it. */
export const here = own ?? (typeof __dirname === 'string' ? __dirname : undefined)

/** The directory of this package: the one that this module is in, or, where it is in a bundle, the one that is installed for that. */
function findRoot(): string | undefined {
  if (here === undefined) return undefined
  const above = join(here, '..')
  return packageIn(above) === undefined ? installedFor(here) : above
}

/** The one that node_modules has for what is in a directory, if it is of the version of this code: its addon speaks with no other. */
function installedFor(directory: string): string | undefined {
  try {
    const root = dirname(createRequire(join(directory, 'any.js')).resolve('inotify-bridge/package.json'))
    return packageIn(root)?.version === INOTIFY_BRIDGE_VERSION ? root : undefined
  } catch {
    return undefined
  }
}

/** The name and version of a runtime that is not Node. */
export function otherRuntime(): string | undefined {
  const { bun, deno } = process.versions
  if (bun !== undefined) return `Bun ${bun}`
  return deno === undefined ? undefined : `Deno ${deno}`
}

/**
 * Throws {@link AddonLoadError} where the addon must not even be loaded: Bun has a function of each name of libuv's, and most of them
 * abort the process; Deno lacks some.
 */
export function refuseOtherRuntimes(): void {
  const runtime = otherRuntime()
  if (runtime === undefined) return
  const hint =
    'it calls functions of libuv that are missing there. Run this with Node (>= 20.19). ' +
    `What needs no addon works here: diagnosis, masks, constants; and ${HAND_OVER}`
  throw new AddonLoadError('addon', runtime, [], hint, undefined)
}

/** Throws {@link AddonLoadError} on other platforms than Linux. */
export function refuseOtherPlatforms(what: string): void {
  if (process.platform === 'linux') return
  const hint = `inotify is a facility of the Linux kernel: run this on Linux. Elsewhere ${HAND_OVER}`
  throw new AddonLoadError(what, PLATFORM, [], hint, undefined)
}

/** See original.ts. */
const HAND_OVER = 'inotify-bridge/chokidar, /parcel and /fs hand over to what they replace'

/** A function: what is not built has no version, and needs none. */
const bundled = () =>
  `this code has been bundled, and what is compiled cannot be: install inotify-bridge ${INOTIFY_BRIDGE_VERSION}, the version of the bundle, ` +
  'where that is run (a node_modules beside it or above it)'

function remedy(moduleRoot: string): string {
  const native = printable(join(moduleRoot, 'native'))
  return `compile it (needs g++, make, python3): npm install --no-save node-gyp@12 node-addon-api@8 && npx node-gyp rebuild -C '${native}'`
}

/** Returns the package.json if it is this package's, and not that of a directory around a bundle. */
function packageIn(directory: string): { name: string; version: string } | undefined {
  try {
    const said = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
    return said.name === 'inotify-bridge' ? said : undefined
  } catch {
    return undefined
  }
}
