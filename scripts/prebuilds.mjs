// node scripts/prebuilds.mjs make [ARCHITECTURE...] | clean: makes or removes the compiled files of the
// tarball. `npm pack` makes them, and they are never committed. build/Release has those of this machine's
// architecture; Debian's cross compilers build the others.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from './node_gyp.mjs'

const root = join(import.meta.dirname, '..')
const prebuilds = join(root, 'prebuilds')

/** The prefixes of Debian's compilers: g++-aarch64-linux-gnu has aarch64-linux-gnu-g++. */
const TRIPLETS = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }

const [command, ...asked] = process.argv.slice(2)
rmSync(prebuilds, { recursive: true, force: true })
if (command === 'make') {
  const architectures = Object.entries(TRIPLETS).filter(
    ([name]) => asked.length === 0 || asked.includes(name),
  )
  // Makes all or none: a user of a missing architecture would find out at run time.
  const missing = architectures.filter(
    ([name, triplet]) => name !== process.arch && spawnSync(`${triplet}-g++`, ['--version']).status !== 0,
  )
  if (missing.length > 0) {
    const packages = missing.map(([, triplet]) => `g++-${triplet.replace('_', '-')}`)
    process.stderr.write(
      `inotify-bridge: not packed: a tarball has the addon for each architecture, and a compiler is missing (Debian: apt install ${packages.join(' ')})\n`,
    )
    process.exit(1)
  }
  for (const [name, triplet] of architectures)
    if (name === process.arch) ship(join(root, 'build/Release'), name, 'strip')
    else ship(crossBuild(name, triplet), name, `${triplet}-strip`)
}

/**
 * Builds a copy of native/ in build/, only the changed files. Returns the directory of the results.
 * @param {string} architecture
 * @param {string} triplet
 */
function crossBuild(architecture, triplet) {
  const copy = join(root, 'build', architecture, 'native')
  mkdirSync(copy, { recursive: true })
  for (const name of readdirSync(copy)) if (name !== 'build') rmSync(join(copy, name), { recursive: true })
  const isSource = (/** @type {string} */ path) => path !== join(root, 'native/build')
  cpSync(join(root, 'native'), copy, { recursive: true, preserveTimestamps: true, filter: isSource })
  const tools = { CC: 'gcc', CXX: 'g++', AR: 'ar', LINK: 'g++' }
  const env = Object.fromEntries(Object.entries(tools).map(([key, tool]) => [key, `${triplet}-${tool}`]))
  if (!build(copy, [`--arch=${architecture}`], env)) process.exit(1)
  return join(copy, 'build/Release')
}

/**
 * @param {string} from
 * @param {string} architecture
 * @param {string} strip
 */
function ship(from, architecture, strip) {
  const directory = join(prebuilds, `linux-${architecture}`)
  mkdirSync(directory, { recursive: true })
  for (const name of ['inotify_bridge.node', 'inotify_bridge_enter', 'inotify_bridge_run']) {
    const file = join(directory, name)
    cpSync(join(from, name), file)
    const stripped = spawnSync(strip, ['--strip-unneeded', file], { stdio: 'inherit' })
    if (stripped.status !== 0) throw new Error(`${strip} (of binutils, which g++ needs as well) failed`)
  }
}
