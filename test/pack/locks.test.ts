// Locks name each package by its digest, so that any server may hand the package out.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

interface Locked {
  version?: string
  integrity?: string
  link?: boolean
  inBundle?: boolean
}

/** Lists the packages that npm fetches without a digest. npm fetches no links and nothing in the repository; bundled packages come with their bundle. */
function withoutDigest(packages: Record<string, Locked>): string[] {
  return Object.entries(packages)
    .filter(([path, { link, inBundle }]) => /(^|\/)node_modules\//.test(path) && !link && !inBundle)
    .filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))
    .map(([path]) => path)
}

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
const locks = files.filter((file) =>
  /^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml)$/.test(basename(file)),
)

test('the locks are npm’s, of the package and of the examples', () => {
  expect(locks).toEqual(['examples/package-lock.json', 'package-lock.json'])
})

test.each(locks)('%s: each package has its digest', (lock) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, lock), 'utf8'))
  expect(Object.keys(packages).length).toBeGreaterThan(100)
  expect(withoutDigest(packages)).toEqual([])
})

test.each<[string, Locked, boolean]>([
  ['node_modules/a', {}, true],
  ['node_modules/a', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, true],
  ['node_modules/a/node_modules/@b/c', {}, true],
  ['../packages/a/node_modules/b', {}, true],
  ['node_modules/a', { integrity: `sha512-${'a'.repeat(86)}==` }, false],
  ['', {}, false],
  ['..', {}, false],
  ['node_modules/a', { link: true }, false],
  ['node_modules/a', { inBundle: true }, false],
])('%s %o lacks one: %j', (path, locked, isWithout) => {
  expect(withoutDigest({ [path]: locked })).toEqual(isWithout ? [path] : [])
})
