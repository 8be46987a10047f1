import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

let programs: string | undefined
const compiled = new Map<string, string>()
// Not when the process ends: vitest ends its workers by signal.
afterAll(() => {
  if (programs !== undefined) rmSync(programs, { recursive: true })
})

/** Compiles test/native/NAME.c, once in a test file, and returns the program's path. It goes when the file's tests have ended. */
export function compile(name: string): string {
  const done = compiled.get(name)
  if (done !== undefined) return done
  programs ??= mkdtempSync(join(tmpdir(), 'inotify-bridge-programs-'))
  const program = join(programs, name)
  const source = join(import.meta.dirname, '..', 'native', `${name}.c`)
  execFileSync('cc', ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-o', program, source])
  compiled.set(name, program)
  return program
}
