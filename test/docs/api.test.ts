// docs/api.md is held against what is shipped: its declarations by the compiler, its tables by the docstrings, the constants and the commands' --help.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diagnoseCommand } from '../../src/cli/diagnose/diagnose.ts'
import { mirrorCommand } from '../../src/cli/mirror/mirror.ts'
import { publishCommand } from '../../src/cli/publish/publish.ts'
import { reloadCommand } from '../../src/cli/reload/reload.ts'
import { watchCommand } from '../../src/cli/watch/watch.ts'
import * as inotify from '../../src/entries/inotify.ts'
import { complaintsOf } from './compiler.ts'
import { blocksOf, ROOT, textOf } from './pages.ts'

const PAGE = 'docs/api.md'
const page = textOf(PAGE)

/** The names that the package gives, but for the constants, and for those of others' interfaces, which have pages of their own. */
const files = readdirSync(join(ROOT, 'src/entries')).filter(
  (file) => !['fs.ts', 'chokidar.ts', 'parcel.ts'].includes(file),
)
const surfaces = files.map((file) => `src/entries/${file}`)
const exported = [...surfaces, 'src/watch/surface.ts'].flatMap((file) =>
  [...textOf(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').flatMap((name) => name.replace(/\btype /, '').trim() || []),
  ),
)
const names = [...new Set(exported)].sort()

interface Declaration {
  kind: string
  name: string
  text: string
  /** Of the page. */
  line: number
}

/** What the page declares; overloads of one name are one declaration. */
const declarations: Declaration[] = blocksOf(PAGE)
  .filter(({ language }) => language === 'ts')
  .flatMap(({ text, line }) => {
    const found: Declaration[] = []
    for (const [i, each] of text.split('\n').entries()) {
      const [, kind = '', name = ''] = /^(class|const|function|interface|type) (\w+)/.exec(each) ?? []
      const last = found.at(-1)
      if (name !== '' && name !== last?.name) found.push({ kind, name, text: `${each}\n`, line: line + i })
      else if (last !== undefined) last.text += `${each}\n`
    }
    return found
  })

const SAME = `
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
type Expect<T extends true> = T
// Of a class what its users see: no private parts, and 'this' by that name.
type Seen<T> = { [K in Exclude<keyof T, keyof EventEmitter>]: T[K] extends (...args: infer A) => T ? (...args: A) => 'this' : T[K] }
`

/** What the compiler is to find true of a declaration of the page. */
function comparisons({ kind, name, text }: Declaration): string[] {
  const [here, there] = [`page.${name}`, `shipped.${name}`]
  if (kind === 'function' || kind === 'const') return [`Same<typeof ${here}, typeof ${there}>`]
  const of = (side: string) => (kind === 'class' ? `Seen<${side}>` : side)
  const isGeneric = text.startsWith(`${kind} ${name}<`)
  const compared = (isGeneric ? ['<string>', '<Buffer>', ''] : ['']).map(
    (of_) => `Same<${of(here + of_)}, ${of(there + of_)}>`,
  )
  if (text.includes('constructor('))
    compared.push(`Same<ConstructorParameters<typeof ${here}>, ConstructorParameters<typeof ${there}>>`)
  return compared
}

test('every name that the package gives is declared there, or has a table, and no other', () => {
  const declared = declarations.map(({ name }) => name)
  const [undeclared, unknown] = [names, declared].map((one, i, all) =>
    one.filter((name) => !all[1 - i]?.includes(name)),
  )
  // Options and actions have a table each, and what an event carries is in a table of its class's.
  expect(undeclared?.sort()).toEqual([
    'InotifyOptions',
    'MirrorEvents',
    'MirrorOptions',
    'ReloadAction',
    'ReloadOptions',
    'ReloaderEvents',
    'WatchOptions',
  ])
  expect(undeclared?.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  expect(unknown).toEqual([])
})

test('its declarations are those that are shipped', () => {
  const files: Record<string, string> = {}
  for (const declaration of declarations) {
    const { name, text, line } = declaration
    // On the same lines as on the page, for what the compiler complains of. A name of its own in it is the page's, any other the one that is shipped.
    const others = names.filter((other) => other !== name).join(', ')
    const head = `import type * as shipped from 'inotify-bridge'; import type { ${others} } from 'inotify-bridge'; import { EventEmitter } from 'node:events'; declare namespace page {`
    const checks = comparisons(declaration).map((each, i) => `export type Check${i} = Expect<${each}>`)
    files[`api.md_${line}_${name}.ts`] =
      `${'\n'.repeat(line - 1)}${head}\n${text}}\n${SAME}${checks.join('\n')}\n`
  }
  expect(complaintsOf(files)).toBe('')
})

/** The rows of the first table behind a text, by their first cell. */
function tableAfter(text: string): Map<string, string[]> {
  const at = page.indexOf(text)
  expect(at, text).toBeGreaterThanOrEqual(0)
  const [table = ''] = /(?:^\|.*\n)+/m.exec(page.slice(at)) ?? []
  const rows = table.trim().split('\n').slice(2)
  return new Map(
    rows.map((row) => {
      const [first = '', ...cells] = row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim())
      return [first.replaceAll('`', ''), cells]
    }),
  )
}

/** The members of an interface in a file of src/, each with what its docstring says is its default. */
function defaultsIn(file: string, name: string): Map<string, string> {
  const [, body = ''] =
    new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(textOf(file)) ?? []
  const members = body.matchAll(/^ {2}(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2})?(\w+)(\??):/gm)
  return new Map(
    [...members].map(([, doc = '', member = '', optional]) => {
      const value = /@default (.*?)\s*$/.exec(doc)?.[1]
      return [member, value ?? (optional === '?' ? 'none' : '')]
    }),
  )
}

test.each([
  ['InotifyOptions', 'src/inotify/inotify.ts', '`InotifyOptions`:'],
  ['WatchOptions', 'src/watch/options.ts', '`WatchOptions`:'],
  ['MirrorOptions', 'src/mirror/options.ts', '`MirrorOptions`:'],
  ['ReloadOptions', 'src/reload/options.ts', '`ReloadOptions`:'],
])('the table of %s has each option, with the default that its docstring says', (name, file, before) => {
  const rows = [...tableAfter(before)].map(([option, [value = '']]) => [option, value.replaceAll('`', '')])
  const options = Object.fromEntries(defaultsIn(file, name))
  expect(Object.keys(options).length).toBeGreaterThan(3)
  expect(Object.fromEntries(rows)).toEqual(options)
})

test('the table of IN_* has each constant, with its value', () => {
  const constants = Object.entries(inotify).filter(([name]) => name.startsWith('IN_'))
  expect(constants.length).toBeGreaterThan(20)
  const rows = [...tableAfter('### `IN_*`')].filter(([name]) => name.startsWith('IN_'))
  expect(Object.fromEntries(rows.map(([name, [value]]) => [name, Number(value)]))).toEqual(
    Object.fromEntries(constants),
  )
})

test.each([
  ['watch', watchCommand],
  ['mirror', mirrorCommand],
  ['publish', publishCommand],
  ['reload', reloadCommand],
  ['diagnose', diagnoseCommand],
])(
  'the table of `inotify-bridge %s` tells of the flags that its --help lists, and of no others',
  (name, { help }) => {
    const flagsIn = (text: string) => text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []
    const rows = [...tableAfter(`### \`inotify-bridge ${name}`)]
    // They begin a line there, alone or with others, and what is said of them is some columns to the right.
    const listed = (help.match(/^ +(?:-\w, )?--[a-z].*?(?= {2}|$)(?: {3}--\S+)*/gm) ?? []).flatMap(flagsIn)
    expect(listed.length).toBeGreaterThan(1)
    const told = rows.flatMap(([flags, cells]) => flagsIn([flags, ...cells].join(' ')))
    // Of all commands that is said once.
    expect(listed.filter((flag) => flag !== '--help' && !told.includes(flag))).toEqual([])
    expect(rows.flatMap(([flags]) => flagsIn(flags)).filter((flag) => !listed.includes(flag))).toEqual([])
  },
)
