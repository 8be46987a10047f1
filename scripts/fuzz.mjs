// Feeds random input to the parsers: libFuzzer tests those of the addon (test/fuzz/*.cc, under
// AddressSanitizer and UBSan), and fast-check those in TypeScript (test/fuzz/decoders.test.ts).
//
//   npm run fuzz [-- --minutes N] [--keep] [PARSER...]
//
// N minutes for each parser, 0.2 by default: a minute or two for all. --keep: inputs that have reached new
// code go into test/fuzz/corpus, with which each run begins. A file there has an input a line, in base64.
// Needs clang and its runtime (Debian: clang, libclang-rt-dev).
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const corpus = join(root, 'test/fuzz/corpus')

// The source files of each of the addon's parsers.
/** @type {Record<string, string[]>} */
const PARSERS = {
  packing: ['queue/packing.cc'],
  record: ['record/record.cc', 'record/digest.cc'],
  requests: ['scan/requests.cc'],
  listed_entries: ['record/record.cc', 'record/digest.cc'],
  run: ['run/relay.cc', 'base/statx.cc'],
  stat_watch: ['base/statx.cc'],
}
const DECODERS = 'decoders'

// The bytes of the longest input. Longer ones find nothing more, and each takes longer.
const MOST_BYTES = 4096
// The most inputs that are kept for a parser, the shortest first.
const MOST_KEPT = 60

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '0.2' }, keep: { type: 'boolean', default: false } },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error(`--minutes is to be a number above 0, and is '${values.minutes}'`)

const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-fuzz-'))
let status = 0
try {
  for (const name of positionals.length > 0 ? positionals : [...Object.keys(PARSERS), DECODERS]) {
    process.stdout.write(`\n== ${name}\n`)
    const found = name === DECODERS ? fuzzDecoders() : fuzz(name)
    if (found !== 0) status = 1
  }
} finally {
  rmSync(directory, { recursive: true })
}
process.exitCode = status

/** @param {string} name */
function fuzz(name) {
  const program = build(name)
  const inputs = unpack(name)
  const findings = join(directory, `${name}-findings`)
  mkdirSync(findings)
  const run = spawnSync(
    program,
    [
      `-max_total_time=${Math.ceil(minutes * 60)}`,
      `-max_len=${MOST_BYTES}`,
      '-timeout=10',
      '-print_final_stats=1',
      '-verbosity=1',
      `-artifact_prefix=${findings}/`,
      inputs,
    ],
    { encoding: 'utf8', maxBuffer: 2 ** 30 },
  )
  const said = run.stderr.split('\n')
  if (run.status === 0) {
    const last = said.findLast((line) => line.includes('DONE')) ?? ''
    process.stdout.write(`${last}\n`)
    if (values.keep) keep(name, program, inputs)
    return 0
  }
  process.stdout.write(`${said.slice(-60).join('\n')}\n`)
  for (const finding of readdirSync(findings))
    process.stdout.write(
      `to be mended, and kept as a line of test/fuzz/corpus/${name}.txt:\n${encoded(join(findings, finding))}\n`,
    )
  return 1
}

function fuzzDecoders() {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/fuzz/decoders.test.ts'], {
    cwd: root,
    env: { ...process.env, FUZZ_MINUTES: String(minutes) },
    stdio: 'inherit',
  })
  return status
}

/** @param {string} name */
function build(name) {
  const parts = PARSERS[name]
  if (parts === undefined)
    throw new Error(`there is no parser '${name}': ${Object.keys(PARSERS).join(', ')}, ${DECODERS}`)
  const program = join(directory, name)
  const sources = [join(root, 'test/fuzz', `${name}.cc`), ...parts.map((part) => join(root, 'native', part))]
  execFileSync(
    'clang++',
    [
      '-std=c++17',
      '-O1',
      '-g',
      '-Wall',
      '-Wextra',
      '-D_GNU_SOURCE',
      `-I${join(root, 'native')}`,
      '-fsanitize=fuzzer,address,undefined',
      '-fno-sanitize-recover=undefined',
      '-o',
      program,
      ...sources,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return program
}

/** @param {string} name */
function unpack(name) {
  const inputs = join(directory, `${name}-inputs`)
  mkdirSync(inputs)
  const file = join(corpus, `${name}.txt`)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  for (const [i, line] of lines.entries())
    writeFileSync(join(inputs, `kept-${i}`), Buffer.from(line, 'base64'))
  return inputs
}

/**
 * @param {string} name
 * @param {string} program
 * @param {string} inputs
 */
function keep(name, program, inputs) {
  const merged = join(directory, `${name}-merged`)
  mkdirSync(merged)
  execFileSync(program, ['-merge=1', `-max_len=${MOST_BYTES}`, merged, inputs], { stdio: 'ignore' })
  const lines = readdirSync(merged).map((input) => encoded(join(merged, input)))
  const kept = lines.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, MOST_KEPT)
  mkdirSync(corpus, { recursive: true })
  writeFileSync(join(corpus, `${name}.txt`), `${kept.join('\n')}\n`)
}

/** @param {string} file */
function encoded(file) {
  return readFileSync(file, 'base64')
}
