// Runs the addon's tests against builds with gcc's sanitizers: address and undefined behaviour, then threads.
//
//   npm run test:sanitizers [-- address | thread]
//
// Works on a copy in a temporary directory, so that the ordinary build does not change. node itself is not instrumented: the
// sanitizer's runtime is preloaded, and what it reports is about the addon.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './node_gyp.mjs'

const root = join(import.meta.dirname, '..')

/**
 * @typedef {object} Run
 * @property {string} sanitize for -fsanitize
 * @property {string[]} libraries to preload
 * @property {Record<string, string>} options of their runtimes, without the place of reports
 * @property {RegExp} ours matches a report about the addon
 * @property {RegExp} [theirs] matches a report that is about another library after all
 * @property {string[]} tests
 */
/** @type {Record<string, Run>} */
const RUNS = {
  address: {
    sanitize: 'address,undefined',
    libraries: ['libasan.so', 'libubsan.so'],
    options: {
      // Leaks: node keeps much until its end, by design. What the addon must give back is counted by the tests (descriptors,
      // threads), and freed memory that is used again is what this run is for.
      ASAN_OPTIONS: 'detect_leaks=0:halt_on_error=1:exitcode=99',
      UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1:exitcode=99',
    },
    ours: /Sanitizer|runtime error/,
    tests: [
      'test/inotify',
      'test/native/walker',
      'test/native/calls',
      'test/native/pidfd',
      ...['watcher', 'lifecycle', 'engine/overflow', 'dual'].map((name) => `test/watch/${name}.test.ts`),
    ],
  },
  thread: {
    sanitize: 'thread',
    libraries: ['libtsan.so'],
    // V8 has reports of its own, also of what happens to it below a call of ours: on with the run, and look afterwards for those
    // whose innermost frame, or the one around the runtime's own (memcpy, operator delete), is in the addon.
    options: { TSAN_OPTIONS: 'halt_on_error=0:exitcode=0' },
    ours: /^ +#[01] .*inotify_bridge\.node/m,
    // libuv closes by a system call of its own, which the runtime does not see: the runtime takes the number
    // for libuv's for ever.
    theirs: /Location is file descriptor \d+ created by .*\n +#0 .*\n +#1 uv_/,
    tests: [
      'test/inotify/inotify.test.ts',
      'test/inotify/guard.test.ts',
      'test/native/walker',
      'test/native/calls',
    ],
  },
}

const asked = process.argv.slice(2)
for (const name of asked.length > 0 ? asked : Object.keys(RUNS)) {
  const run = RUNS[name]
  if (run === undefined) throw new Error(`there is no run '${name}': ${Object.keys(RUNS).join(', ')}`)
  process.stdout.write(`\n== ${run.sanitize}\n`)
  const status = testUnder(run)
  if (status !== 0) process.exit(status)
}

/** @param {Run} run */
function testUnder({ sanitize, libraries, options, ours, theirs, tests }) {
  const copy = mkdtempSync(join(tmpdir(), 'inotify-bridge-sanitizer-'))
  try {
    for (const part of [
      'dist',
      'examples',
      'native',
      'out',
      'package.json',
      'src',
      'test',
      'vitest.config.ts',
      'tsconfig.json',
    ]) {
      cpSync(join(root, part), join(copy, part), {
        recursive: true,
        filter: (path) => !/native\/build$|examples\/node_modules$/.test(path),
      })
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    if (!build(join(copy, 'native'), [], { GYP_DEFINES: `sanitize=${sanitize}` })) return 1
    const preload = libraries.map((library) =>
      execFileSync('gcc', [`-print-file-name=${library}`], { encoding: 'utf8' }).trim(),
    )
    const reports = join(copy, 'reports')
    mkdirSync(reports)
    // Tests that go on as another user write reports, too.
    chmodSync(copy, 0o755)
    chmodSync(reports, 0o777)
    const reporting = Object.entries(options).map(([name, text]) => [
      name,
      `${text}:log_path=${join(reports, 'report')}`,
    ])
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const { status } = spawnSync(process.execPath, [vitest, 'run', '--testTimeout=300000', ...tests], {
      cwd: copy,
      env: { ...process.env, ...Object.fromEntries(reporting), LD_PRELOAD: preload.join(' ') },
      stdio: 'inherit',
    })
    const found = readdirSync(reports)
      .flatMap((name) => readFileSync(join(reports, name), 'utf8').split(/^={18}$/m))
      .filter((report) => ours.test(report) && !theirs?.test(report))
    for (const report of found) process.stdout.write(`${report}\n`)
    process.stdout.write(`${sanitize}: ${found.length} reports about the addon\n`)
    return found.length > 0 ? 1 : (status ?? 1)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
