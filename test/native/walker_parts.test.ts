import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const SCANNING = [
  'base/statx',
  'record/digest',
  'record/record',
  'scan/opener',
  'scan/requests',
  'scan/walk_queue',
  'scan/way_cache',
]
const NATIVE = join(import.meta.dirname, '../../native')
const FLAGS = [`-I${NATIVE}`, '-std=c++17', '-O1', '-g', '-Wall', '-Wextra', '-pthread']
const SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover']

test.each([
  ['opening_test.cc', SCANNING, []],
  ['way_cache_test.cc', SCANNING, []],
  ['record_test.cc', ['record/digest', 'record/record', 'record/record_queue'], ['-Wl,--wrap=realloc']],
])('%s, without node, under AddressSanitizer and UBSan', { timeout: 120_000 }, (file, parts, more) => {
  const program = join(scratch(), 'program')
  const sources = parts.map((name) => join(NATIVE, `${name}.cc`))
  const flags = [...FLAGS, ...SANITIZERS, ...more]
  // What is preloaded (scripts/sanitizers.mjs) would come on top of these programs' own.
  const env = { ...process.env, LD_PRELOAD: '' }
  execFileSync('g++', [...flags, '-o', program, join(import.meta.dirname, file), ...sources], { env })
  const { status, stderr } = spawnSync(program, [scratch('/dev/shm')], { encoding: 'utf8', env })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
