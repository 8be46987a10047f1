// Each line has its reason when it is added; their number has one only if a test asks for it. test/lines.txt records how many each folder may have.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const RECORD = 'test/lines.txt'
/** A folder that shrinks by more than this is recorded anew, so that it does not grow back. */
const SLACK = 100

/** Counts the lines of a folder's sources; of `src`, those of the files right in it. */
function linesIn(folder: string): number {
  const files = readdirSync(join(ROOT, folder), { recursive: folder !== 'src', encoding: 'utf8' })
    // native/build and native/.build-* are made.
    .filter((name) => /\.(ts|cc|h|gypi?)$/.test(name) && !(folder === 'native' && /^\.?build/.test(name)))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
  return files.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
}

const inSrc = readdirSync(join(ROOT, 'src')).map((name) => `src/${name}`)
const folders = ['native', 'src', ...inSrc.filter((path) => statSync(join(ROOT, path)).isDirectory())]

/** The reason is not compared, but a figure without one is no row. */
const rows = readFileSync(join(ROOT, RECORD), 'utf8').matchAll(/^([\w/]+) +(\d+) +\S.*$/gm)
const record = new Map([...rows].map(([, folder, lines]) => [folder, Number(lines)]))

test.each(folders)('%s has as many lines as are recorded, or up to 100 fewer', (folder) => {
  const [lines, most] = [linesIn(folder), record.get(folder)]
  const remedy = `write "${folder} ${lines} REASON" in ${RECORD}`
  if (most === undefined) expect.fail(`${folder} has no figure with a reason: ${remedy}`)
  const more = lines - most
  if (more > 0)
    expect.fail(`${folder} has ${more} lines more than its ${most}: take as many away, or ${remedy}`)
  if (-more > SLACK) expect.fail(`${folder} has ${-more} lines fewer than its ${most}: ${remedy}`)
})

test('each figure is of a folder that there is', () => {
  expect([...record.keys()].toSorted()).toEqual(folders.toSorted())
})
