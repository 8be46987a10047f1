// Option `ignore` in comparison with @parcel/watcher: its wrapper tells which rules are globs, and the rules
// that its backend gets.
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { expect, test, vi } from 'vitest'
import { ignoreOf } from '../../src/parcel/ignore.ts'

interface Normalized {
  ignorePaths?: string[]
  ignoreGlobs?: string[]
}
interface Binding {
  writeSnapshot(dir: string, snapshot: string, options: Normalized): void
}
const { createWrapper } = createRequire(import.meta.url)('@parcel/watcher/wrapper.js') as {
  createWrapper(binding: Binding): {
    writeSnapshot(dir: string, snapshot: string, options: { ignore: Array<string | RegExp> }): void
  }
}

/**
 * Matches like Watcher::isIgnored() in its Watcher.cc: globs are matched against the whole path below the
 * directory.
 */
function theirs(directory: string, rule: string | RegExp): (path: string) => boolean {
  let given: Normalized = {}
  createWrapper({ writeSnapshot: (_, __, options) => (given = options) }).writeSnapshot(directory, 's', {
    ignore: [rule],
  })
  const { ignorePaths = [], ignoreGlobs = [] } = given
  const globs = ignoreGlobs.map((source) => new RegExp(`^(?:${source})$`))
  return (path) =>
    ignorePaths.some((each) => path === each || path.startsWith(`${each}/`)) ||
    (path.startsWith(`${directory}/`) && globs.some((glob) => glob.test(path.slice(directory.length + 1))))
}

const DIRECTORIES = [
  '/project',
  '/project (copy)',
  '/wow!',
  '/a{b',
  '/a}b',
  '/a{b}',
  '/a(b|c)',
  '/a[b',
  '/a[b]',
  '/a?b',
  '/a*',
  '/+(x)',
]

const NAMES = [
  'node_modules',
  'node_modules/.pnpm/p@1/node_modules/p/index.js',
  'node_modules/.bin/tool',
  'packages/a/node_modules/b/c.js',
  'app/[slug]',
  'app/[slug]/page.js',
  'app/s/page.js',
  'app/(group)/page.js',
  'app/@modal/page.js',
  '.cache/x.map',
  '.git',
  '.git/HEAD',
  'src/a.js',
  'src/.a.js',
  'src/a.test.ts',
  'a',
  'b',
  'a b',
  '!a',
  'a{b',
  'a+b',
  'wow!/f',
  'project (copy)/f',
  'line\nend',
  'ä/ö',
]

const RULES: Array<string | RegExp> = [
  '**/node_modules/**',
  '**/node_modules/*/**',
  'node_modules',
  'node_modules/**',
  '**/*.map',
  '*.map',
  'app/[slug]',
  'app/[slug]/**',
  'app/(group)',
  'app/@modal',
  '**/.git/**',
  '**/.*',
  '**/{.git,node_modules}/**',
  '**/*.{test,spec}.ts',
  '!a',
  '!(a)',
  '@(a|b)',
  '+(a)',
  '?(a)',
  'a?b',
  'a+b',
  'a{b',
  'a{b,c}',
  'a[b',
  'a]b',
  'wow!',
  'project (copy)',
  '(a|b)',
  '(?:a)',
  '\\!a',
  '\\*',
  '.?',
  'src/./a.js',
  './src',
  '../project/src',
  '*',
  '**',
  'ä/*',
  /\.js$/,
  /^node_modules/,
  /a|b/,
]

test.each(DIRECTORIES)('below %s each rule ignores what it does there', async (directory) => {
  const paths = [directory, ...NAMES.map((name) => join(directory, name))]
  // Each of the names is tried as a path of its own as well, absolute and relative.
  for (const rule of [...RULES, ...NAMES, ...paths, ...NAMES.map((name) => resolve(directory, 'x', name))]) {
    const [ours, other] = [await ignoreOf(directory, [rule]), theirs(directory, rule)]
    const [own, expected] = [ours, other].map((isIgnored) => paths.filter(isIgnored))
    expect(own, `${rule}`).toEqual(expected)
  }
})

/** Returns a generator of numbers from a seed: mulberry32. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

test.each([1, 2, 3])('1,000 rules of what globs are made of, seed %i', async (seed) => {
  const below = numbers(seed)
  const parts = [
    'a',
    'b',
    '/',
    '*',
    '**/',
    '?',
    '[',
    ']',
    '{',
    '}',
    '(',
    ')',
    '|',
    '!',
    '@',
    '+',
    '.',
    ',',
    '\\',
    ' ',
    'src',
  ]
  const directory = '/project (copy)'
  const paths = NAMES.map((name) => join(directory, name))
  for (let i = 0; i < 1000; i++) {
    const rule = Array.from({ length: 1 + below(6) }, () => parts[below(parts.length)]).join('')
    const [ours, other] = [await ignoreOf(directory, [rule]), theirs(directory, rule)]
    const [own, expected] = [ours, other].map((isIgnored) => paths.filter(isIgnored))
    expect(own, rule).toEqual(expected)
  }
})

test('where what matches globs is not installed, that is said of a glob, and of it alone', async () => {
  vi.doMock('picomatch', () => {
    throw new Error('Cannot find package')
  })
  try {
    const isIgnored = await ignoreOf('/project', ['node_modules', /x$/])
    expect(['/project/node_modules/a', '/project/x', '/project/a'].filter(isIgnored)).toHaveLength(2)
    await expect(ignoreOf('/project', ['a', '**/b'])).rejects.toThrow(
      /^ignore: '\*\*\/b' needs is-glob and picomatch, .*npm install is-glob picomatch/,
    )
  } finally {
    vi.doUnmock('picomatch')
  }
})
