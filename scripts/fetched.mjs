import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../node_modules/.cache/fetched')

/**
 * The directory of a package of npm's that only some tests need: fetched once, into a place of its own beside what `npm ci` has installed.
 * @param {string} spec a name with its version
 * @param {string[]} [flags] such as --cpu=arm64
 * @returns {string}
 */
export function fetched(spec, flags = []) {
  const prefix = join(CACHE, [spec, ...flags].join(' ').replaceAll('/', '+'))
  const name = spec.slice(0, spec.lastIndexOf('@'))
  const directory = join(prefix, 'node_modules', name)
  if (existsSync(join(directory, 'package.json'))) return directory
  mkdirSync(prefix, { recursive: true })
  const install = [
    'install',
    '--ignore-scripts',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--silent',
    ...flags,
  ]
  execFileSync('npm', [...install, '--prefix', prefix, spec], { stdio: ['ignore', 'pipe', 'inherit'] })
  return directory
}
