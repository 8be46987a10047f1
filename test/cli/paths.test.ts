import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/shared/option.ts'
import { type Patterns, pathFilter, pattern } from '../../src/cli/watch/path_filter.ts'
import { givenPaths } from '../../src/cli/watch/watched_paths.ts'
import type { Kind } from '../../src/watch/report/change.ts'

describe('paths begin as they were given', () => {
  const given = givenPaths(['d', './e//', '/', 'd/deep', 'file', '.'])
  test.each<[path: string, kind: Kind, watched: string, name: string]>([
    ['d/f', 'file', 'd/', 'f'],
    ['d/sub/g', 'file', 'd/sub/', 'g'],
    ['e/f', 'file', './e//', 'f'],
    ['d/deep/f', 'file', 'd/deep/', 'f'],
    ['d/deep', 'directory', 'd/', 'deep'],
    ['file', 'file', 'file', ''],
    ['other', 'file', './', 'other'],
    ['/top', 'file', '/', 'top'],
    ['/usr/bin/x', 'file', '/usr/bin/', 'x'],
    ['/', 'directory', '/', ''],
  ])('%s (%s): %s, %s', (path, kind, watched, name) => {
    expect(given.place(resolve(path), kind)).toEqual({ watched, name })
  })

  test('a directory of which nothing above is watched is itself', () => {
    expect(givenPaths(['d']).place(resolve('d'), 'directory')).toEqual({ watched: 'd/', name: '' })
  })

  test('a root is what was given for it', () => {
    expect(given.place(resolve('d'))).toEqual({ watched: 'd', name: '' })
  })
})

describe('patterns', () => {
  const read = (flag: string, texts: string[]) =>
    texts.map((text) => pattern(flag.endsWith('i') ? 'i' : '')(text, `--${flag}`))
  const filter = (patterns: Partial<Record<keyof Patterns, string[]>>) =>
    pathFilter(
      Object.fromEntries(Object.entries(patterns).map(([flag, texts]) => [flag, read(flag, texts)])),
      (path) => path.slice(1),
    )

  test('are searched for in the path as it is printed', () => {
    expect(filter({ exclude: ['^d/f$'] }).ignores?.('/d/f', 'file')).toBe(true)
    expect(filter({ exclude: ['^/d/f$'] }).ignores?.('/d/f', 'file')).toBe(false)
    expect(filter({ exclude: ['F'] }).ignores?.('/d/f', 'file')).toBe(false)
    expect(filter({ excludei: ['F'] }).ignores?.('/d/f', 'file')).toBe(true)
  })

  test('leave a directory out by its path with the slash, and its own changes by that without', () => {
    expect(filter({ exclude: ['sub/'] }).ignores?.('/d/sub', 'directory')).toBe(true)
    expect(filter({ exclude: ['sub/'] }).ignores?.('/d/sub', 'file')).toBe(false)
    const own = filter({ exclude: ['sub$'] })
    expect(own.ignores?.('/d/sub', 'directory')).toBe(false)
    expect(own.tells('/d/sub', 'directory')).toBe(false)
    expect(own.tells('/d/sub/f', 'file')).toBe(true)
  })

  test('to include hide the others and leave no directory out', () => {
    const included = filter({ include: ['\\.js$'], includei: ['\\.TS$'] })
    expect(included.tells('/d/a.js', 'file')).toBe(true)
    expect(included.tells('/d/a.ts', 'file')).toBe(true)
    expect(included.tells('/d/a.md', 'file')).toBe(false)
    expect(included.ignores).toBeUndefined()
  })

  test('are all taken: several of one flag, and both kinds', () => {
    const both = filter({ exclude: ['a', 'b'], include: ['x'] })
    expect(['/xa', '/xb', '/x', '/y'].map((path) => both.tells(path, 'file'))).toEqual([
      false,
      false,
      true,
      false,
    ])
  })

  test.each([
    ['(', 'Unterminated group'],
    ['\\<word\\>', 'Invalid escape'],
    ['[[:alpha:]]x', 'has no [:alpha:]'],
    ['[a[=e=]]', 'has no [=e=]'],
    ['\x1b(', '\\x1b'],
  ])('%j is refused: JavaScript would not take it, or not as POSIX does', (pattern, words) => {
    expect(() => filter({ includei: [pattern] })).toThrow(UsageError)
    expect(() => filter({ includei: [pattern] })).toThrow(words)
    expect(() => filter({ includei: [pattern] })).toThrow(
      '--includei takes a regular expression of JavaScript',
    )
  })

  test.each(['[.=]', '[:]', '[^/]*\\.(swp|tmp)$', '[.:x]:'])('%j is taken', (pattern) => {
    expect(() => filter({ exclude: [pattern] })).not.toThrow()
  })
})
