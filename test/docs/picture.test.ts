import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { ROOT } from './pages.ts'

test('the picture in README.md is what scripts/picture.mjs draws of what was measured', () => {
  const drawn = join(scratch(), 'picture.svg')
  execFileSync(process.execPath, [join(ROOT, 'scripts/picture.mjs'), drawn])
  expect(readFileSync(join(ROOT, 'docs/picture.svg'), 'utf8')).toBe(readFileSync(drawn, 'utf8'))
})
