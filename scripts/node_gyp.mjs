import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Builds the binding.gyp of a directory with node-gyp, incrementally. Prints node-gyp's output if the build
 * fails.
 * @param {string} directory
 * @param {string[]} [flags]
 * @param {Record<string, string>} [env] beside the environment
 * @returns {boolean} whether it is built
 */
export function build(directory, flags = [], env = {}) {
  const gyp = createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')
  // Headers that lie beside this very node (official tarballs and most distributions have them) spare node-gyp a download.
  const prefix = dirname(dirname(process.execPath))
  const headers = existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : []
  const built = spawnSync(
    process.execPath,
    [gyp, '--loglevel=error', 'configure', 'build', '--jobs', 'max', ...headers, ...flags],
    { cwd: directory, encoding: 'utf8', env: { ...process.env, ...env } },
  )
  if (built.status === 0) return true
  process.stdout.write(built.stdout ?? '')
  process.stderr.write(built.stderr ?? '')
  process.stderr.write(
    'inotify-bridge: the addon was not built; g++, make and python3 are needed (Debian: apt install g++ make python3)\n',
  )
  return false
}
