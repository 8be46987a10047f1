import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The page and its plots, by their paths. */
function pageIn(docs: string): Map<string, string> {
  const plots = readdirSync(join(docs, 'benchmarks')).map((name) => `benchmarks/${name}`)
  const files = ['benchmarks.md', ...plots].sort()
  return new Map(files.map((file) => [file, readFileSync(join(docs, file), 'utf8')]))
}

test('the page of benchmarks and its plots are what npm run bench:page makes of bench/results.json', () => {
  const made = scratch()
  execFileSync(process.execPath, [join(ROOT, 'bench/page/make.mjs'), made])
  expect(pageIn(join(ROOT, 'docs'))).toEqual(pageIn(made))
})
