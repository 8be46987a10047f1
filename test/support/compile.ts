import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import tmp from 'tmp'

tmp.setGracefulCleanup()
let programs: string | undefined
const compiled = new Map<string, string>()

/** Compiles test/native/NAME.c, once, and returns the program's path. It goes when the process ends. */
export function compile(name: string): string {
  const done = compiled.get(name)
  if (done !== undefined) return done
  programs ??= tmp.dirSync({ unsafeCleanup: true, prefix: 'inotify-bridge-programs-' }).name
  const program = join(programs, name)
  const source = join(import.meta.dirname, '..', 'native', `${name}.c`)
  execFileSync('cc', ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-o', program, source])
  compiled.set(name, program)
  return program
}
