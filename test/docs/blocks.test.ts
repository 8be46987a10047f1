// Checks that the docs' blocks compile or can be read, and that their command lines are right usage.
// run.test.ts runs them.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { commandLinesOf, expectRightUsage, ownCommandsIn } from './command_lines.ts'
import { complaintsOf } from './compiler.ts'
import { blocksOf, PAGES, proseOf, ROOT } from './pages.ts'

const blocks = PAGES.flatMap(blocksOf)
const lines = blocks.flatMap(commandLinesOf)
const inLanguage = (language: string) => blocks.filter((block) => block.language === language)
const at = ({ page, line }: { page: string; line: number }) => `${page}:${line}`

test('each block says what it is written in', () => {
  // ts: declarations that TypeDoc has written.
  const known = ['console', 'ini', 'js', 'mermaid', 'sh', 'text', 'ts', 'yaml']
  expect(blocks.filter(({ language }) => !known.includes(language)).map(at)).toEqual([])
  expect(inLanguage('ts').filter(({ page }) => !page.startsWith('docs/api/'))).toEqual([])
  // A block that is marked by spaces alone would not be checked.
  expect(PAGES.filter((page) => /\n\n {4}\S/.test(proseOf(page)))).toEqual([])
})

test('each mark belongs to a block, and its text is in it', () => {
  for (const page of PAGES) {
    const marks = proseOf(page).match(/^<!--/gm) ?? []
    expect(marks.length, page).toBe(blocksOf(page).flatMap((block) => block.marks).length)
  }
  for (const block of blocks)
    for (const { where = '' } of block.marks) expect(block.text, at(block)).toContain(where)
})

test('JavaScript compiles, and fits the declarations that are shipped', () => {
  const scripts = inLanguage('js')
  expect(scripts.length).toBeGreaterThan(15)
  // Names the files by page and line, and keeps the lines' numbers, so that the compiler's errors are found.
  const files = scripts.map(({ page, line, text }) => [
    `${page.replaceAll('/', '_')}_${line}.mjs`,
    '\n'.repeat(line) + text,
  ])
  expect(complaintsOf(Object.fromEntries(files))).toBe('')
})

test.each(inLanguage('yaml').map((block) => [at(block), block] as const))('%s is YAML', (_, { text }) => {
  for (const { errors } of parseAllDocuments(text)) expect(errors).toEqual([])
})

test('each block of commands is a shell script', () => {
  for (const block of inLanguage('sh'))
    expect(spawnSync('sh', ['-n'], { input: block.text, encoding: 'utf8' }).stderr, at(block)).toBe('')
})

test('each command line of inotify-bridge is right usage', async () => {
  const own = lines.flatMap(({ text, where }) => ownCommandsIn(text).map((words) => ({ words, where })))
  expect(own.length).toBeGreaterThan(20)
  for (const { words, where } of own)
    await expect(expectRightUsage(words), `${where}: ${words.join(' ')}`).resolves.toBeUndefined()
})

test('so is each in a sentence', async () => {
  const own = PAGES.flatMap((page) =>
    [...proseOf(page).matchAll(/^(?!#).*/gm)]
      .flatMap(([line]) => [...line.matchAll(/`(inotify-bridge [a-z]+ [^`]*)`/g)])
      .flatMap(([, text = '']) => ownCommandsIn(text)),
  )
  expect(own.length).toBeGreaterThan(4)
  for (const words of own) await expect(expectRightUsage(words), words.join(' ')).resolves.toBeUndefined()
})

test('each script of npm and each file that node is given is there', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const words = lines.map(({ text }) => text).join('\n')
  const named = [...words.matchAll(/\bnpm (?:run (?:--silent )?)?(?!run|ci|install|pack)([\w:]+)/g)].map(
    ([, name]) => name,
  )
  expect(named.length).toBeGreaterThan(10)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
  for (const [, file = ''] of words.matchAll(/\bnode ([\w./-]+\.mjs)/g))
    if (!file.includes('NAME')) expect(existsSync(join(ROOT, file)), file).toBe(true)
})
