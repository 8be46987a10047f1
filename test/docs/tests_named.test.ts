// The docs say of each promise which test shows it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

for (const page of [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]) {
  test(`${page}: every test and every page that it names is there`, () => {
    const text = readFileSync(join(root, page), 'utf8')
    const tests = text.matchAll(/(?<!\*\.)\b[a-z_]+(?:\/[a-z_]+)*\.test\.ts/g)
    const missing = [...tests].map(([name]) => name).filter((name) => !existsSync(join(root, 'test', name)))
    const links = text.matchAll(/\]\(([^):#]+)[^):]*\)/g)
    const dead = [...links].map(([, to = '']) => to).filter((to) => !existsSync(join(root, page, '..', to)))
    expect([...missing, ...dead]).toEqual([])
  })
}
