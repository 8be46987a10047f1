// A place for everything a run leaves on disk, gone when the process ends: at its end, by an error or by a signal.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @typedef {object} Scratch
 * @property {string} path
 * @property {{ writer: string, rawReader: string, rawWalk: string, rawPoll: string, calls: string }} programs
 * @property {() => void} remove  At once, and not when the process ends.
 * @property {() => string} newDirectory      For one measurement.
 * @property {() => string} newKeptDirectory  For all.
 * @property {() => void} clean               What one measurement has made: a tmpfs has so many inodes, and no more.
 * @property {() => { go: string, done: string }} newFifos
 */

/**
 * Makes scratch directories on tmpfs if there is one: the benchmark measures inotify, and not a disk.
 * @returns {Scratch}
 */
export function makeScratch() {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'inotify-bridge-bench-'))
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  process.on('exit', remove)
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]))
  }
  const programs = {
    writer: join(path, 'writer'),
    rawReader: join(path, 'raw_reader'),
    rawWalk: join(path, 'raw_walk'),
    rawPoll: join(path, 'raw_poll'),
    calls: join(path, 'calls'),
  }
  compileC('writer.c', programs.writer)
  compileC('raw_reader.c', programs.rawReader)
  compileC('raw_walk.c', programs.rawWalk)
  compileC('raw_poll.c', programs.rawPoll)
  compileC('calls.c', programs.calls)
  const newKeptDirectory = () => mkdtempSync(join(path, 'watched-'))
  /** @type {string[]} */
  const used = []
  return {
    path,
    programs,
    remove,
    newKeptDirectory,
    newDirectory: () => {
      const directory = newKeptDirectory()
      used.push(directory)
      return directory
    },
    clean: () => {
      for (const directory of used.splice(0))
        rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    },
    newFifos: () => {
      const directory = mkdtempSync(join(path, 'fifos-'))
      const fifos = { go: join(directory, 'go'), done: join(directory, 'done') }
      execFileSync('mkfifo', [fifos.go, fifos.done])
      return fifos
    },
  }
}

/**
 * @param {string} source  Of programs/.
 * @param {string} program
 */
export function compileC(source, program) {
  const flags = ['-std=c11', '-Wall', '-Wextra', '-O2', '-pthread']
  execFileSync('cc', [...flags, '-o', program, join(import.meta.dirname, 'programs', source)], {
    stdio: 'inherit',
  })
}
