// A root that lies behind a symlink which another root tells of and does not follow. What the one tells of the link and what the other tells
// behind it are to be applied to one table of paths, each change alone.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { Change, Kind, WatchOptions } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../support.ts'
import { namesIn } from './names.ts'

vi.setConfig({ testTimeout: 120_000 })

const NEVER = 1_000_000

/** A plain table of paths to which each change is applied by itself. A directory's speaks for all below it; a symlink's for the link alone. */
class Table {
  readonly names: Map<string, Kind>

  constructor(names: ReadonlyArray<[path: string, kind: Kind]>) {
    this.names = new Map(names)
  }

  apply(change: Change): void {
    if (!('kind' in change)) return
    const { type, path, kind } = change
    if (type === 'create') {
      expect(this.names.has(path), `is taken: ${path}`).toBe(false)
      this.names.set(path, kind)
    } else if (type === 'delete') this.#take(path)
    else if (type === 'rename') {
      const moving = this.#take(change.from)
      expect(this.names.has(path), `is taken: ${path}`).toBe(change.replaced)
      if (change.replaced) this.#take(path)
      this.#put(path, moving)
    } else if (type === 'exchange') {
      const [one, two] = [this.#take(path), this.#take(change.other)]
      this.#put(path, two)
      this.#put(change.other, one)
    } else expect(this.names.has(path), `is nothing: ${path}`).toBe(true)
  }

  /** What has a name, and what goes with it: the paths below it, and their kinds. */
  #take(path: string): Array<[below: string, kind: Kind]> {
    const kind = this.names.get(path)
    if (kind === undefined) throw new Error(`is nothing: ${path}`)
    const isTaken = (each: string) => each === path || (kind === 'directory' && each.startsWith(`${path}/`))
    const all = [...this.names].filter(([each]) => isTaken(each))
    for (const [each] of all) this.names.delete(each)
    return all.map(([each, of]) => [each.slice(path.length), of])
  }

  #put(path: string, all: ReadonlyArray<[below: string, kind: Kind]>): void {
    for (const [below, kind] of all) this.names.set(path + below, kind)
  }
}

type Act = (at: (path: string) => string) => void

const ACTS: Array<[title: string, acts: Act[]]> = [
  [
    'the link is renamed, and back',
    [(at) => fs.renameSync(at('t/l'), at('t/m')), (at) => fs.renameSync(at('t/m'), at('t/l'))],
  ],
  [
    'the link is removed, and made again',
    [(at) => fs.unlinkSync(at('t/l')), (at) => fs.symlinkSync('../one', at('t/l'))],
  ],
  [
    'the link is removed, and made to another directory',
    [(at) => fs.unlinkSync(at('t/l')), (at) => fs.symlinkSync('../two', at('t/l'))],
  ],
  ['the link is exchanged with another', [(at) => renameWith(RENAME_EXCHANGE, at('t/l'), at('t/k'))]],
  ['another is renamed over it', [(at) => fs.renameSync(at('t/k'), at('t/l'))]],
  ['it is renamed over another', [(at) => fs.renameSync(at('t/l'), at('t/k'))]],
  [
    'a directory takes its place',
    [
      (at) => fs.unlinkSync(at('t/l')),
      (at) => fs.mkdirSync(at('t/l')),
      (at) => fs.writeFileSync(at('t/l/f'), 'another'),
    ],
  ],
  [
    'a directory is exchanged with it, and back',
    [
      (at) => renameWith(RENAME_EXCHANGE, at('t/l'), at('t/e')),
      (at) => renameWith(RENAME_EXCHANGE, at('t/l'), at('t/e')),
    ],
  ],
  [
    'a file moves from behind it to beside it, and the link goes',
    [(at) => fs.renameSync(at('t/l/f'), at('t/f')), (at) => fs.unlinkSync(at('t/l'))],
  ],
  [
    'a file is made behind it',
    [(at) => fs.writeFileSync(at('t/l/new'), ''), (at) => fs.unlinkSync(at('t/l'))],
  ],
]

/** What both roots tell of: the link is told as a symlink, and what is behind it as well. */
function toldIn(at: (path: string) => string): Array<[path: string, kind: Kind]> {
  const names = namesIn(at('t'))
  const isLink = names.some(([path, kind]) => path === at('t/l') && kind === 'symlink')
  return (isLink ? [...names, ...namesIn(at('t/l'))] : names).toSorted()
}

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  describe.each(ACTS)('%s', (_, acts) => {
    test.each([
      ['each is told before the next', acts.map((act) => [act])],
      ['all at once', [acts]],
    ])('%s', async (_, rounds) => {
      const base = scratch()
      const at = (path: string) => join(base, path)
      for (const path of ['t/e/d', 'one/d', 'two']) fs.mkdirSync(at(path), { recursive: true })
      for (const path of ['t/e/f', 'one/f', 'one/d/g', 'two/f', 'two/h']) fs.writeFileSync(at(path), path)
      fs.symlinkSync('../one', at('t/l'))
      fs.symlinkSync('../two', at('t/k'))
      const options: WatchOptions = { backend, recursive: true, interval: NEVER }
      const { told } = await watching([at('t'), at('t/l')], options)
      await told()
      const table = new Table(toldIn(at))
      const story: string[] = []
      for (const round of rounds) {
        for (const act of round) act(at)
        // What is lost is looked for at the next poll.
        const changes = [...(await told()), ...(await told())]
        story.push(...changes.map((change) => inWords(change, base)))
        for (const change of changes) table.apply(change)
        expect([...table.names].toSorted(), story.join('\n')).toEqual(toldIn(at))
      }
    })
  })
})
