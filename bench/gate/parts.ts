// Builds the program of the native parts (parts.cc) like the addon, and returns callgrind's counts.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const NATIVE = join(import.meta.dirname, '../../native')
const SOURCES = ['queue/packing', 'record/digest', 'record/record', 'scan/requests', 'scan/walk_queue']

/** The flags of native/binding.gyp. No lazy linking, whose cost would count for the first caller. */
const FLAGS = [
  ...['-D_GNU_SOURCE', '-O2', '-U_FORTIFY_SOURCE', '-fstack-protector-strong', '-Wall', '-Wextra'],
  ...[
    '-std=c++17',
    '-fno-exceptions',
    '-fno-rtti',
    '-fno-threadsafe-statics',
    '-fno-asynchronous-unwind-tables',
  ],
  '-Wl,-z,now',
]

/**
 * libc has variants of its functions for the features of processors. Without these features, all machines
 * count the same variant.
 */
const FEATURES = 'AVX512VL AVX2 AVX AVX_Fast_Unaligned_Load SSE4_2 SSE4_1 SSSE3 BMI2 ERMS FSRM MOVBE'
const GLIBC_TUNABLES = `glibc.cpu.hwcaps=${FEATURES.split(' ')
  .map((name) => `-${name}`)
  .join(',')}`

export const PARTS = [
  'pack',
  'pack-same-names',
  'pack-long-name',
  'lone-event',
  'list',
  'list-with-stat',
  'sum',
  'remember',
  'parse-requests',
  'walk-queue',
]

/** Returns the versions that decide how many instructions a source becomes. */
export function builtWith(): string {
  const gcc = (flag: string) => execFileSync('g++', [flag], { encoding: 'utf8' }).trim()
  const libc = execFileSync('getconf', ['GNU_LIBC_VERSION'], { encoding: 'utf8' }).trim()
  return `g++ ${gcc('-dumpfullversion')} for ${gcc('-dumpmachine')}, ${libc}`
}

export const isValgrindThere = () => spawnSync('valgrind', ['--version']).status === 0

export function buildParts(directory: string): string {
  const program = join(directory, 'parts')
  const sources = [
    join(import.meta.dirname, 'parts.cc'),
    ...SOURCES.map((name) => join(NATIVE, `${name}.cc`)),
  ]
  execFileSync('g++', [`-I${NATIVE}`, ...FLAGS, '-o', program, ...sources])
  return program
}

/** Returns the instructions for each unit of a part, with those of libc. */
export function countInstructions(program: string, part: string): number {
  const flags = ['--tool=callgrind', '--callgrind-out-file=/dev/null', '--toggle-collect=measured']
  const env = { ...process.env, GLIBC_TUNABLES }
  const { status, stdout, stderr } = spawnSync('valgrind', [...flags, program, part], {
    encoding: 'utf8',
    env,
  })
  const collected = Number(/Collected : (\d+)/.exec(stderr)?.[1])
  if (status !== 0 || !(collected > 0)) throw new Error(`${part}: callgrind has counted nothing\n${stderr}`)
  return collected / Number(stdout)
}
