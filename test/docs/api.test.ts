// docs/api.md and docs/api/ are made from the declarations that are shipped.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { ROOT } from './pages.ts'

const pagesIn = (docs: string) =>
  ['api.md', ...readdirSync(join(docs, 'api')).map((name) => `api/${name}`)].sort().map((page) => ({
    page,
    text: readFileSync(join(docs, page), 'utf8'),
  }))

test('the pages of the API are those that `npm run docs:pages` makes of the declarations', async () => {
  const made = scratch()
  await promisify(execFile)(process.execPath, [join(ROOT, 'site/make.mjs'), 'pages', made])
  expect(pagesIn(join(ROOT, 'docs'))).toEqual(pagesIn(made))
})
