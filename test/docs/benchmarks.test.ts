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

test('the figures in README.md are those of the page', () => {
  const page = readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8')
  const [, section = ''] =
    /## How fast\n([\s\S]*?)\n## /.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
  const rows = [...section.matchAll(/^\| (?!question|---)(.*) \|$/gm)].map(([, row = '']) => row)
  expect(rows.length).toBeGreaterThan(5)
  const figures = rows.flatMap((row) => row.replaceAll(/\bp\d+|\d s\b/g, '').match(/\d[\d.]*/g) ?? [])
  expect(figures.filter((figure) => !new RegExp(`(?<![\\d.])${figure}(?![\\d.])`).test(page))).toEqual([])
})
