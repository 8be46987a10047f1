// The structure of watch() as docs/architecture.md describes it: rooms import downwards, files do not import
// each other in circles, and folders stay small.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const SRC = join(import.meta.dirname, '../../src')

/** The rooms from the top down: a room may import those behind it. */
const ROOMS = [
  'engine',
  'poll',
  'roots',
  'events',
  'diff',
  'pending',
  'saved',
  'tree',
  'scan',
  'gitignore',
  'report',
]

/**
 * The files right in src/watch that put the rooms together. All other files there are contracts, which any
 * room may import.
 */
const TOP = ['calls.ts', 'watcher.ts', 'engine_part.ts', 'open_engine.ts', 'surface.ts', 'linux.ts']

/** The rooms whose types contracts may name. */
const NAMED_IN_CONTRACTS = ['saved', 'scan', 'report']

const MOST_FILES = 14

// Matches imports of types as well, and dynamic ones.
const IMPORT = /^(?:import|export)\b[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

interface Edge {
  from: string
  to: string
}

/** Returns paths relative to src. */
function sources(): string[] {
  const entries = readdirSync(SRC, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map(({ parentPath, name }) => relative(SRC, join(parentPath, name)))
    .toSorted()
}

function importsOf(from: string): Edge[] {
  const found = readFileSync(join(SRC, from), 'utf8').matchAll(IMPORT)
  return [...found].map(([, ...paths]) => {
    const path = paths.find((each) => each !== undefined) as string
    return { from, to: join(dirname(from), path) }
  })
}

const CONTRACT = 'contract'

/** Returns the room of a path in watch/, a file of the top, or {@link CONTRACT}. */
function roomOf(path: string): string {
  const [, room = '', ...rest] = path.split('/')
  return rest.length > 0 || TOP.includes(room) ? room : CONTRACT
}

/** Returns the reason why one file of src/watch may not import another, or undefined if it may. */
function objectionTo({ from, to }: Edge): string | undefined {
  const [above, below] = [roomOf(from), roomOf(to)]
  if (TOP.includes(above)) return undefined
  if (TOP.includes(below)) return 'only the top may'
  if (below === CONTRACT) return undefined
  if (above === CONTRACT)
    return NAMED_IN_CONTRACTS.includes(below) ? undefined : 'a contract knows no such room'
  return ROOMS.indexOf(below) < ROOMS.indexOf(above) ? `${below} is above ${above}` : undefined
}

/** Returns circles of imports, each as the files on the way round: at least one circle, if there are any. */
function circlesIn(edges: readonly Edge[]): string[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to])
  const circles: string[] = []
  const over = new Set<string>()
  const visit = (file: string, way: readonly string[]) => {
    const at = way.indexOf(file)
    if (at >= 0) circles.push([...way.slice(at), file].join(' > '))
    if (at >= 0 || over.has(file)) return
    for (const to of targets.get(file) ?? []) visit(to, [...way, file])
    over.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  return circles
}

const FILES = sources()
const EDGES = FILES.flatMap(importsOf)
const shown = ({ from, to }: Edge, why: string) => `${from} imports ${to}: ${why}`

test('every import is of a file that is there, so that none is overlooked', () => {
  const known = new Set(FILES)
  expect(EDGES.filter(({ to }) => !known.has(to)).map((edge) => shown(edge, 'not there'))).toEqual([])
  expect(EDGES).toContainEqual({ from: 'watch/engine/wiring.ts', to: 'watch/tree/tree.ts' })
})

test('src/watch has these rooms, and docs/architecture.md a row for each, in their order', () => {
  const folders = readdirSync(join(SRC, 'watch'), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  )
  expect(folders.map(({ name }) => name).toSorted()).toEqual(ROOMS.toSorted())
  const page = readFileSync(join(SRC, '../docs/architecture.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z]+)\/` \|/gm)].map(([, room]) => room)
  expect(rows).toEqual(ROOMS)
})

test('imports within src/watch point down', () => {
  const within = EDGES.filter(({ from, to }) => from.startsWith('watch/') && to.startsWith('watch/'))
  const objections = within.flatMap((edge) => {
    const why = objectionTo(edge)
    return why === undefined ? [] : [shown(edge, why)]
  })
  expect(objections).toEqual([])
})

test('no files of src import each other, by however many others', () => {
  expect(circlesIn(EDGES)).toEqual([])
})

// A callback would let a class call upwards, though its import points down.
test('the context of a room has objects of the rooms below, and no callbacks', () => {
  const contexts = FILES.filter((file) => /^watch\/.*context\.ts$/.test(file))
  expect(contexts.length).toBeGreaterThan(5)
  const callbacks = contexts.filter((file) =>
    /^ {2}(?:readonly )?\w+\??(?:\(|: \(.*=>)/m.test(readFileSync(join(SRC, file), 'utf8')),
  )
  expect(callbacks).toEqual([])
})

// The return type of `entriesOf` keeps all other files from writing.
test('only TreeEditor, and the tree itself, have the entries of a directory to write to', () => {
  const writers = FILES.filter((file) => readFileSync(join(SRC, file), 'utf8').includes('editableEntriesOf('))
  expect(writers.toSorted()).toEqual(['watch/tree/tree.ts', 'watch/tree/tree_editor.ts'])
})

test(`a folder of src has at most ${MOST_FILES} files`, () => {
  const counts = new Map<string, number>()
  for (const file of FILES) counts.set(dirname(file), 1 + (counts.get(dirname(file)) ?? 0))
  expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([])
})
