// Option `ignore`: its forms, and its globs in comparison with picomatch's.
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { globPattern, isGlob } from '../../src/watch/glob.ts'
import { ignoresOf } from '../../src/watch/ignores.ts'
import type { WatchOptions } from '../../src/watch/options.ts'
import { randomFrom } from './support.ts'

type Matcher = (glob: string, options: { dot: boolean }) => (path: string) => boolean
const picomatch = createRequire(import.meta.url)('picomatch') as Matcher
type Ignore = NonNullable<WatchOptions['ignore']>

/** Returns if a path in the root /top is ignored. */
const ignored = (ignore: Ignore, relative: string) =>
  ignoresOf(ignore)?.has(`/top/${relative}`, relative, 'file')

describe.each<[rule: string | RegExp, yes: string[], no: string[]]>([
  ['build', ['build', 'build/x/y'], ['builds', 'a/build', 'root', 'xbuild']],
  ['./a//b/', ['a/b', 'a/b/c'], ['a', 'a/bc', 'x/a/b']],
  [
    '**/node_modules',
    ['node_modules', 'a/b/node_modules', 'a/node_modules/x'],
    ['xnode_modules', 'node_modules2'],
  ],
  ['**/node_modules/**', ['node_modules', 'node_modules/x', 'a/node_modules/x/y'], ['a/node_modules2']],
  ['*.log', ['a.log', '.log', 'a.log/x'], ['d/a.log', 'a.logs']],
  ['**/*.log', ['a.log', 'd/e/a.log', '.hidden.log'], ['a.log2', 'log']],
  ['src/*/out', ['src/a/out', 'src/a/out/x'], ['src/out', 'src/a/b/out']],
  ['src/**/out', ['src/out', 'src/a/b/out'], ['srcout', 'src']],
  ['src/**', ['src', 'src/a/b'], ['srcs']],
  ['a?c', ['abc', 'aéc', 'a😀c'], ['ac', 'abbc', 'a/c']],
  ['[a-c]x', ['ax', 'cx'], ['dx', '/x', '-x']],
  ['[!a-c]x', ['dx', '-x'], ['ax', 'x']],
  ['[slug]/page', ['s/page', '[slug]/page'], ['x/page']],
  ['*.{js,ts}', ['a.js', 'a.ts'], ['a.jsts', 'a.j', 'a.{js,ts']],
  ['{a,b/{c,d}}/x', ['a/x', 'b/c/x', 'b/d/x'], ['b/x', 'c/x']],
  ['a.b(c)', ['a.b(c)'], ['axb(c)', 'a.bc']],
  ['ä*', ['äx', 'ä'], ['ax']],
  ['/top/build', ['build', 'build/x'], ['builds', 'a/build']],
  ['/top/*/out', ['a/out', 'a/out/x'], ['out']],
  ['/top/', ['anything'], []],
  ['/', ['anything'], []],
  ['/elsewhere', [], ['elsewhere', 'anything']],
  [/build/, ['build', 'xbuild/y'], ['root', 'b']],
  [/^build$/g, ['build'], ['a/build', 'builds']],
  [/top/, [], ['x']],
])('%s', (rule, yes, no) => {
  test.each([...yes.map((path) => [path, true]), ...no.map((path) => [path, false])] as Array<
    [string, boolean]
  >)('%s: %s', (path, expected) => {
    expect(ignored([rule], path)).toBe(expected)
    expect(ignored(['nothing', rule, /^$/], path)).toBe(expected)
  })
})

test('a pattern with the g flag does not remember', () => {
  const ignores = ignoresOf([/\.tmp$/g])
  expect([1, 2, 3].map(() => ignores?.has('/r/a.tmp', 'a.tmp', 'file'))).toEqual([true, true, true])
})

test('a function is given the absolute path and the kind', () => {
  const ignore: Ignore = (path, kind) => path === '/top/a' && kind === 'directory'
  expect([ignoresOf(ignore)?.has('/top/a', '', 'directory'), ignored(ignore, 'a')]).toEqual([true, false])
})

test('the last string that names a path decides: one with ! takes the path back', () => {
  const ignore = ['**/*.log', '!keep.log', '!/top/d/*.log', 'd/b.log']
  const all = ['a.log', 'keep.log', 'd/keep.log', 'd/a.log', 'd/b.log', 'a.txt']
  expect(all.filter((path) => ignored(ignore, path))).toEqual(['a.log', 'd/b.log'])
})

test.each([[undefined], [[]]])('%j ignores nothing', (ignore) => {
  expect(ignoresOf(ignore)).toBeUndefined()
})

test.each([
  '..',
  '../x',
  '.',
  './',
  'a/..',
  '!',
  '*(a)',
  '@(a|b)',
  '!(a)',
  '[[:alpha:]]*',
  '{1..3}',
  '{a,b',
  '[z-a]',
])('what can match nothing, or is no glob here, is a TypeError: %s', (rule) => {
  expect(() => ignoresOf([rule])).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE', message: expect.stringContaining(`'${rule}'`) }),
  )
})

const seed = Number(process.env.SEED ?? 20261127)
test(`globs match as picomatch has them, and all that lies below, seed ${seed}`, () => {
  const random = randomFrom(seed)
  const pick = <T>(of: readonly T[]) => of[random(of.length)] as T
  const many = (most: number, make: () => string) => Array.from({ length: 1 + random(most) }, make)
  const LETTERS = ['a', 'b', '.', 'é', '-', 'aa']
  const NAME = [...LETTERS, '^', '$', '+']
  const PART = [...LETTERS, ...LETTERS, '*', '?', '[ab]', '[^a]', '{a,b}', '{a,*b}', 'a.b']
  const segment = () => (random(4) === 0 ? '**' : many(3, () => pick(PART)).join(''))
  const name = () => many(3, () => pick(NAME)).join('')
  const isOdd = (path: string) => /(^|\/)\.\.?(\/|$)|(^|\/)\+|\^$/.test(path)
  let compared = 0
  for (let i = 0; i < 3000; i++) {
    const glob = many(3, segment).join('/')
    // Both take `**` beside other characters for `*`, and let `*` match no empty name. picomatch treats
    // several in a row differently, so those are left out.
    if (!isGlob(glob) || isOdd(glob) || /\*\*[^/]|[^/]\*\*|\*\{|\}\*|\*\*\/\*\*|[*?\]}]\/\*\*$/.test(glob))
      continue
    const theirs = picomatch(glob, { dot: true })
    const [ours, paths] = [globPattern(glob), Array.from({ length: 20 }, () => many(3, name).join('/'))]
    for (const path of paths) {
      if (isOdd(path)) continue
      const names = path.split('/')
      // A glob of ours also matches all paths below a match.
      const expected = names.some((_, n) => theirs(names.slice(0, n + 1).join('/')))
      expect(ours.test(path), `${glob} and ${path}`).toBe(expected)
      compared++
    }
  }
  expect(compared).toBeGreaterThan(8000)
})
