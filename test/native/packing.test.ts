import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

test('packing and the arena, without node, under AddressSanitizer and UBSan', () => {
  const program = join(scratch(), 'packing')
  const native = join(import.meta.dirname, '../../native')
  const sources = [join(import.meta.dirname, 'packing_test.cc'), join(native, 'queue/packing.cc')]
  const flags = [
    `-I${native}`,
    '-std=c++17',
    '-O1',
    '-g',
    '-Wall',
    '-Wextra',
    '-fsanitize=address,undefined',
    '-fno-sanitize-recover',
  ]
  execFileSync('g++', [...flags, '-o', program, ...sources])
  expect(execFileSync(program, { encoding: 'utf8' })).toBe('')
})
