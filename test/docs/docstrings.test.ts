// The hover texts of the public surface can be skimmed: each line begins with a verb or a noun.
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT, textOf } from './pages.ts'

const declarations = readdirSync(`${ROOT}/dist`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.d.ts'))
  .map((file) => `dist/${file}`)

test('no line of a comment in the declarations begins without a head', () => {
  expect(declarations.length).toBeGreaterThan(50)
  const headless = declarations.flatMap((file) =>
    [...textOf(file).matchAll(/^\s*(?:\/\*\*|\*) (?:What|Whether|Of|Where|Those|Who)\b.*/gm)].map(
      ([line]) => `${file}: ${line.trim()}`,
    ),
  )
  expect(headless).toEqual([])
})
