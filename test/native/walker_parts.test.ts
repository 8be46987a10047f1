import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'

const SCANNING = [
  'base/statx',
  'record/digest',
  'record/record',
  'scan/opener',
  'scan/requests',
  'scan/walk_queue',
]
const NATIVE = join(import.meta.dirname, '../../native')
const FLAGS = [`-I${NATIVE}`, '-std=c++17', '-O1', '-Wall', '-Wextra', '-pthread']
// Sanitizers take as long to compile as all the rest, and give findings the lines of the source.
const SANITIZERS = isLong ? ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover'] : []

let objects: string

/** Returns the object of a source that several programs share. */
function compiled(source: string): string {
  const object = join(objects, `${source.replaceAll('/', '-')}.o`)
  if (!existsSync(object)) gcc('-c', '-o', object, source)
  return object
}

// These programs have sanitizers of their own, and so must not preload another (scripts/sanitizers.mjs).
const env = { ...process.env, LD_PRELOAD: '' }

const gcc = (...args: string[]) => execFileSync('g++', [...FLAGS, ...SANITIZERS, ...args], { env })

beforeAll(() => {
  objects = mkdtempSync(join(tmpdir(), 'inotify-bridge-objects-'))
  return () => rmSync(objects, { recursive: true })
})

const RECORDING = ['record/digest', 'record/record']
const OLD_KERNEL = '-Wl,--wrap=syscall'
const SERVERS = `${OLD_KERNEL},--wrap=fstatfs,--wrap=linkat`

test.each<[string, string[], string[], string]>([
  ['opening_test.cc', [], SCANNING, OLD_KERNEL],
  ['opening_test.cc', ['before Linux 5.6'], SCANNING, OLD_KERNEL],
  ['requests_test.cc', [], SCANNING, SERVERS],
  ['requests_test.cc', ['before Linux 5.6'], SCANNING, SERVERS],
  ['record_test.cc', [], RECORDING, '-Wl,--wrap=realloc'],
])(`%s %j, without node${isLong ? ', under AddressSanitizer and UBSan' : ''}`, (file, args, parts, wrap) => {
  const program = join(objects, file.replace('.cc', ''))
  const sources = [join(import.meta.dirname, file), ...parts.map((name) => join(NATIVE, `${name}.cc`))]
  gcc(wrap, '-o', program, ...sources.map(compiled))
  const { status, stderr } = spawnSync(program, [scratch('/dev/shm'), ...args], { encoding: 'utf8', env })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
