/**
 * Puts `watch` and `promises.watch` of `inotify-bridge/fs` in the place of Node's, for every module of a program, by `import` and by `require`. It exports nothing:
 * `NODE_OPTIONS="--import inotify-bridge/register"` has Node load it in each process and each worker thread. Node looks for `inotify-bridge` from the working directory upwards, and does not start
 * where it is not found; the command `inotify-bridge exec` finds it wherever it is run.
 *
 * A program that watches nothing loads no more than this file. If the addon cannot be loaded, or modules cannot be required (`--no-experimental-require-module`), Node's own functions stay, and one
 * process warning says why (`InotifyBridgeWarning`, code `INOTIFY_BRIDGE_REGISTER`). Where inotify is refused, `fs.watch()` polls. `fs.watchFile()` stays Node's.
 */
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type { InPlaceOf } from '../fs/nodes_own.ts'

type Watch = (...args: unknown[]) => unknown

interface Functions {
  readonly watch: Watch
  readonly promises: { readonly watch: Watch }
}

const ownOf = ({ watch }: { watch: unknown }) => (watch as InPlaceOf<Watch>).nodesOwn ?? (watch as Watch)
const nodes: Functions = { watch: ownOf(fs), promises: { watch: ownOf(fs.promises) } }

let functions: Functions | undefined

/** Loads within the first call: NODE_OPTIONS has every Node load this file, and few of them watch anything. */
function load(): Functions {
  try {
    functions ??= createRequire(import.meta.url)('./fs_functions.js') as Functions
  } catch (error) {
    functions = nodes
    const { message } = error as Error
    process.emitWarning(`fs.watch() stays Node's own, which hears nothing on some mounts: ${message}`, {
      type: 'InotifyBridgeWarning',
      code: 'INOTIFY_BRIDGE_REGISTER',
    })
  }
  return functions
}

/** Puts a function in the place of Node's, which it keeps. */
const inPlaceOf = (nodesOwn: Watch, watch: Watch) => ({ watch: Object.assign(watch, { nodesOwn }) })

// Not watchFile(): that polls, and hears of changes on every mount.
Object.assign(
  fs,
  inPlaceOf(nodes.watch, (...args) => load().watch(...args)),
)
Object.assign(
  fs.promises,
  inPlaceOf(nodes.promises.watch, (...args) => load().promises.watch(...args)),
)
// For modules that have imported them by name before this one.
syncBuiltinESMExports()
