import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import * as constants from '../../src/inotify/constants.ts'

const HEADER = `
#include <sys/inotify.h>
#include <stdio.h>
int main(void) {
`

test('every IN_* of <sys/inotify.h> is there, with its value', () => {
  const options = { input: '#include <sys/inotify.h>\n', encoding: 'utf8' } as const
  const macros = execFileSync('cc', ['-E', '-dM', '-x', 'c', '-'], options)
  // IN_CLOEXEC and IN_NONBLOCK are of an enum, and the enum's names are macros of themselves.
  const names = [...macros.matchAll(/^#define (IN_[A-Z_]+) /gm)].map(([, name]) => name as string)
  expect(names.length).toBeGreaterThan(20)

  const program = `${HEADER}${names.map((name) => `printf("%u ", (unsigned)${name});`).join('\n')}}`
  const source = execFileSync('sh', ['-c', 'd=$(mktemp -d); cc -x c -o $d/p - && $d/p; rm -r $d'], {
    input: program,
    encoding: 'utf8',
  })
  const values = source.trim().split(' ').map(Number)
  expect({ ...constants }).toEqual(Object.fromEntries(names.map((name, i) => [name, values[i]])))
})
