import { expect, test } from 'vitest'
import { readKeys } from '../../src/publish/directory/keys.ts'
import { versionName } from '../../src/publish/directory/version.ts'
import { isVersionName } from '../../src/volume/layout.ts'

test('keys become directories', () => {
  const { entries } = readKeys({ a: 'x', 'b/c': new Uint8Array([1]), 'b/d/e': '' }, 0o640)
  expect([...entries.keys()]).toEqual(['a', 'b'])
  expect(entries.get('a')).toEqual({ kind: 'file', data: Buffer.from('x'), mode: 0o640 })
  const b = entries.get('b')
  expect(b?.kind === 'directory' && [...b.entries.keys()]).toEqual(['c', 'd'])
})

test.each([
  '../x',
  '/x',
  '..',
  '..data',
  '..x/y',
  'a/../b',
  'a/..b',
  '.',
  './a',
  'a/.',
  '',
  'a//b',
  'a/',
  'a\0b',
  'lone \ud800',
])('%j is no key', (key) => {
  expect(() => readKeys({ [key]: '' }, 0o644)).toThrow(/a key of files must be a relative path/)
})

test.each([[{ a: '', 'a/b': '' }], [{ 'a/b': '', a: '' }], [{ 'a/b/c': '', 'a/b': '' }]])(
  'a key is no directory of another: %j',
  (files) => {
    expect(() => readKeys(files, 0o644)).toThrow(/no directory of another key/)
  },
)

test('what is no object of contents is refused', () => {
  for (const files of [undefined, null, 'a', ['a'], Buffer.from('a'), 1])
    expect(() => readKeys(files, 0o644)).toThrow(/files must be an object/)
  expect(() => readKeys({ a: 1 }, 0o644)).toThrow(/files\['a'\] must be a string or a Uint8Array/)
})

test('__proto__ is a key like any other', () => {
  expect([...readKeys(Object.fromEntries([['__proto__', 'x']]), 0o644).entries.keys()]).toEqual(['__proto__'])
})

test("a version's name is AtomicWriter's: the time in UTC, and digits", () => {
  expect(versionName(new Date('2024-03-05T06:07:08.999+01:00'))).toMatch(/^\.\.2024_03_05_05_07_08\.\d{10}$/)
  expect(isVersionName(versionName())).toBe(true)
  for (const name of [
    '..data',
    '..2024_03_05',
    '2024_03_05_05_07_08.1',
    '..2024_03_05_05_07_08',
    '..2024_03_05_05_07_08.1.x',
  ])
    expect(isVersionName(name)).toBe(false)
})
