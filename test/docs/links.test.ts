// What the docs name is there: each test, each page that they link to, and the heading in it.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf, PAGES, proseOf, ROOT } from './pages.ts'

/** Where the links of a page lead, as they are written. */
function linksOf(page: string): string[] {
  const text = proseOf(page).replaceAll(/`[^`]*`/g, '')
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, to]) => to as string)
}

/** What is wrong with a link; undefined if nothing is. */
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
  // Below test/, or as whoever is in examples/ would look for it.
  const files = [...named].map(([name]) => (name.startsWith('test/') ? name : `test/${name}`))
  const missing = files.filter((file) => !existsSync(join(ROOT, file)))
  expect(missing).toEqual([])
})
