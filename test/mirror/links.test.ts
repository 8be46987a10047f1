import { expect, test } from 'vitest'
import { judgeLink } from '../../src/mirror/source/links.ts'

const SOURCES = ['/src', '/real/src']

test.each([
  ['a', 'b'],
  ['a', 'missing/far/away'],
  ['a', '..data/a'],
  ['a', '.'],
  ['sub/a', '../b'],
  ['sub/deep/a', '../../b'],
  ['sub/a', '..'],
])('%s -> %s stays as it is', (path, to) => {
  expect(judgeLink(path, to, SOURCES)).toEqual({ to })
})

test.each([
  ['a', '/src/b', 'b'],
  ['a', '/real/src/..data/b', '..data/b'],
  ['sub/a', '/src/b', '../b'],
  ['sub/a', '/src/sub/b', 'b'],
  ['a', '/src', '.'],
])('%s -> %s becomes %s', (path, to, relative) => {
  expect(judgeLink(path, to, SOURCES)).toEqual({ to: relative })
})

test.each([
  ['a', '..'],
  ['a', '../b'],
  ['sub/a', '../../b'],
  ['a', '/etc/passwd'],
  ['a', '/srcs/b'],
  ['a', '/src/../etc'],
  // `link` may be a symlink, and `link/..` then lies wherever that leads.
  ['a', 'link/../../b'],
  ['sub/a', 'link/../b'],
])('%s -> %s leads outside', (path, to) => {
  expect(judgeLink(path, to, SOURCES)).toHaveProperty('reason')
})
