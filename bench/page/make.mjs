// npm run bench:page: docs/benchmarks.md and its plots, of bench/results.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { draw } from './draw.mjs'
import { PLOTS } from './plots.mjs'
import { asPage } from './text.mjs'

const root = join(import.meta.dirname, '../..')
// The argument names another directory, for a comparison with the present docs.
const docs = process.argv[2] ?? join(root, 'docs')

/** @type {import('./plots.mjs').Results} */
const results = JSON.parse(readFileSync(join(root, 'bench/results.json'), 'utf8'))
const plots = PLOTS.filter(({ question }) => results.questions.some(({ name }) => name === question))
mkdirSync(join(docs, 'benchmarks'), { recursive: true })
for (const plot of plots) {
  const medians = /** @type {import('./plots.mjs').Medians} */ (
    results.questions.find(({ name }) => name === plot.question)?.medians
  )
  writeFileSync(join(docs, 'benchmarks', `${plot.name}.svg`), await draw(plot, plot.values(medians)))
}
writeFileSync(join(docs, 'benchmarks.md'), asPage(results, plots))
