import { execFileSync } from 'node:child_process'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { programs } from './programs.ts'

/** Compiles test/native/NAME.c, once in a run of the tests, and returns the path of the program, or of what the flags make of it. It goes when the run ends. */
export function compile(name: string, flags: readonly string[] = []): string {
  const program = join(programs(), [name, ...flags].join(''))
  if (existsSync(program)) return program
  const source = join(import.meta.dirname, '..', 'native', `${name}.c`)
  // A test in another process may compile the same program: the rename makes the name appear with a whole
  // program.
  const made = `${program}.${process.pid}`
  execFileSync('cc', ['-std=gnu11', '-O2', '-Wall', '-Wextra', ...flags, '-o', made, source])
  renameSync(made, program)
  return program
}
