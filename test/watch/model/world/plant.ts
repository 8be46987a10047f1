import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Settings, SHAPES } from '../settings.ts'
import { DIRECTORIES, FILES, type Subjects } from './operations.ts'
import { Writers } from './writers.ts'

type Names = 'utf8' | 'latin1'

/** latin1 keeps each name by its bytes. The name that is not ASCII is not UTF-8 then. */
export const namesOf = ({ encoding }: Pick<Settings, 'encoding'>): Names =>
  encoding === 'buffer' ? 'latin1' : 'utf8'

const FILES_IN_A_DIRECTORY = 100

/** Returns the roots that are directories, relative to the tree. */
export function topsOf({ roots }: Pick<Settings, 'roots'>): string[] {
  if (roots === 'two') return ['r1', 'r2']
  return roots === 'nested' ? ['', 'r1'] : ['']
}

/** Makes three levels of files, links and directories in each root, and outside if links are followed. */
export function plant(settings: Settings, tree: string, outside?: string): void {
  const names = namesOf(settings)
  for (const top of topsOf(settings)) {
    mkdirSync(join(tree, top), { recursive: true })
    plantLevels(join(tree, top), 3, names)
  }
  if (!settings.followSymlinks || outside === undefined) return
  for (const name of ['one', 'two']) {
    mkdirSync(join(outside, name))
    plantLevels(join(outside, name), 2, names)
  }
  symlinkSync('one', join(outside, 'current'))
}

function plantLevels(directory: string, levels: number, names: Names): void {
  for (const [i, name] of FILES.entries()) {
    const path = Buffer.from(join(directory, name), names)
    if (i === 0) symlinkSync(FILES[1], path)
    else writeFileSync(path, `planted, ${levels} ${name}\n`)
  }
  for (const name of levels > 1 ? DIRECTORIES : []) {
    mkdirSync(join(directory, name))
    plantLevels(join(directory, name), levels - 1, names)
  }
}

/** Makes the tree large in c, a directory that the writers use. */
export async function plantShape(shape: Settings['shape'], tree: string, outside: string): Promise<void> {
  const { files, levels, directories } = SHAPES[shape]
  const script = [
    ...(files === undefined ? [] : [['fill', String(files), 'c']]),
    ...(levels === undefined ? [] : [['dig', String(levels), 'c']]),
    ...Array.from({ length: directories ?? 0 }, (_, i) => ['fill', String(FILES_IN_A_DIRECTORY), `c/n${i}`]),
  ]
  if (script.length === 0) return
  await using writers = new Writers(1, tree, outside)
  if ((await writers.run([script])) !== script.length) throw new Error('not all could be planted')
}

const numbered = (count: number) => fc.nat(count).map((i) => `f${String(i).padStart(5, '0')}`)

/** Returns the subjects of operations for these settings. */
export function subjectsOf(settings: Settings): Subjects {
  const { files, directories } = SHAPES[settings.shape]
  const planted =
    files !== undefined
      ? numbered(files).map((name) => `c/${name}`)
      : directories !== undefined
        ? fc.tuple(fc.nat(directories), numbered(FILES_IN_A_DIRECTORY)).map(([i, name]) => `c/n${i}/${name}`)
        : undefined
  const { followSymlinks: links, exchanges } = settings
  return { prefixes: prefixesOf(settings), planted, exchanges, links }
}

function prefixesOf(settings: Settings): string[] {
  if (settings.binds) return ['', 'm/', 'n/']
  if (settings.followSymlinks) return ['', '', '', '../outside/one/', '../outside/two/']
  return topsOf(settings).map((top) => (top === '' ? '' : `${top}/`))
}
