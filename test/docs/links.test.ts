// Checks that the docs name things that exist: tests, linked pages, and the headings in them.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf, PAGES, proseOf, ROOT } from './pages.ts'

/** Returns the targets of a page's links, as they are written. */
function linksOf(page: string): string[] {
  const text = proseOf(page).replaceAll(/`[^`]*`/g, '')
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, to]) => to as string)
}

/** Returns the fault of a link, or undefined. */
function faultOf(page: string, to: string): string | undefined {
  if (to.startsWith('https://')) return undefined
  const [path = '', anchor] = to.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), path))
  if (file.startsWith('..') || !existsSync(join(ROOT, file))) return `${to}: there is no ${file}`
  if (anchor === undefined) return undefined
  if (statSync(join(ROOT, file)).isDirectory() || !anchorsOf(file).has(anchor))
    return `${to}: no heading of ${file} has this anchor`
  return undefined
}

test.each(PAGES)('%s: what it links to is there, the heading too', (page) => {
  expect(
    linksOf(page)
      .map((to) => faultOf(page, to))
      .filter((fault) => fault !== undefined),
  ).toEqual([])
})

test.each(PAGES)('%s: every test that it names is there', (page) => {
  const named = proseOf(page).matchAll(/(?<!\*\.)\b[a-z_]+(?:\/[a-z_]+)*\.test\.ts/g)
  // The files are below test/, or relative as a reader in examples/ would look for them.
  const files = [...named].map(([name]) => (name.startsWith('test/') ? name : `test/${name}`))
  const missing = files.filter((file) => !existsSync(join(ROOT, file)))
  expect(missing).toEqual([])
})
