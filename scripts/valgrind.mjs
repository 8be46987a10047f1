// Runs the addon under valgrind's memcheck, in programs that use all of it. Finds reads of memory that is not
// written, beyond its end or freed, and memory without any pointer. Node interprets (--jitless), because
// memcheck cannot follow the code that V8 makes.
//
//   npm run test:valgrind
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-valgrind-'))

// Every scenario of test/faults, without a fault.
const PROGRAMS = ['test/faults/play_all.mjs']

// A report of memcheck's, between lines that have nothing but the process's number.
const BETWEEN = /^==\d+== *$/m
const OURS = /inotify_bridge\.node/

let status = 0
try {
  for (const program of PROGRAMS) {
    process.stdout.write(`\n== ${program}\n`)
    if (!isClean(program)) status = 1
  }
} finally {
  rmSync(directory, { recursive: true })
}
process.exitCode = status

/** @param {string} program */
function isClean(program) {
  const log = join(directory, 'log')
  const valgrind = [
    '--leak-check=full',
    '--show-leak-kinds=definite',
    '--num-callers=30',
    `--log-file=${log}`,
  ]
  const node = [process.execPath, '--jitless', join(root, program)]
  const run = spawnSync('valgrind', [...valgrind, ...node], { stdio: ['ignore', 'inherit', 'inherit'] })
  if (run.error !== undefined) throw run.error
  const reports = readFileSync(log, 'utf8').split(BETWEEN)
  // A report without the addon is Node's.
  const ours = reports.filter((report) => OURS.test(report))
  for (const report of ours) process.stdout.write(report)
  process.stdout.write(`${ours.length} reports about the addon, exit code ${run.status}\n`)
  return ours.length === 0 && run.status === 0
}
