import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

test("the walker's descriptors, without node, under AddressSanitizer and UBSan", { timeout: 120_000 }, () => {
  const program = join(scratch(), 'opening')
  const sources = ['backlog', 'facts', 'opener', 'record', 'requests'].map((name) =>
    join(import.meta.dirname, '../../native', `${name}.cc`),
  )
  const flags = [
    '-std=c++17',
    '-O1',
    '-g',
    '-Wall',
    '-Wextra',
    '-pthread',
    '-fsanitize=address,undefined',
    '-fno-sanitize-recover',
  ]
  execFileSync('g++', [...flags, '-o', program, join(import.meta.dirname, 'opening_test.cc'), ...sources])
  const { status, stderr } = spawnSync(program, [scratch('/dev/shm')], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
