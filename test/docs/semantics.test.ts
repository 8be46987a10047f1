// docs/semantics.md: each promise has a number, a sentence and tests that are there, and the page stays short enough to be read.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PAGES, proseOf, ROOT, textOf } from './pages.ts'

const page = textOf('docs/semantics.md')
const promises = [...page.matchAll(/^\*\*(S\d+)\. ([^*]*)\*\*/gm)].map(([, number = '', sentence = '']) => ({
  number,
  sentence,
}))
const numbers = promises.map(({ number }) => number)
const rows = [...textOf('test/README.md').matchAll(/^\| (S\d+) \| (.+) \|$/gm)]

test('each promise has a number of its own, and is one sentence', () => {
  expect(numbers).toEqual([...new Set(numbers)])
  expect(numbers.length).toBeGreaterThan(100)
  expect(page.match(/^\*\*S\d+/gm)?.length).toBe(numbers.length)
  expect(
    promises.filter(({ sentence }) => !/^[A-Z`][\s\S]*\.$/.test(sentence) || /\. [A-Z]/.test(sentence)),
  ).toEqual([])
})

test('each has a row that names its tests, which are there', () => {
  expect(rows.map(([, number]) => number)).toEqual(numbers)
  const tests = rows.flatMap(([, , names = '']) => names.split(', '))
  const isThere = (name: string) => {
    const path = join(ROOT, 'test', name.replace(/^scripts\//, 'scripts/testdata/'))
    return ['.test.ts', '/'].some((end) => existsSync(`${path}${end}`))
  }
  expect(tests.filter((name) => !isThere(name))).toEqual([])
})

test('each number that a page names is that of a promise', () => {
  const named = PAGES.flatMap((each) => proseOf(each).match(/\bS[1-9]\d*\b/g) ?? [])
  expect(named.filter((number) => !numbers.includes(number))).toEqual([])
})

test('it is 32 KB at most', () => {
  expect(Buffer.byteLength(page)).toBeLessThanOrEqual(32_000)
})
