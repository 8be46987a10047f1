// A root behind a symlink that another root tells and does not follow. The changes of the link and the
// changes behind it must fit one table of paths, each applied alone.
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change, Kind, WatchOptions } from '../../../../src/index.ts'
import { isLong } from '../../../support/long.ts'
import { scratch } from '../../../support/scratch.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../../support.ts'
import { losing, readingOne } from '../losing.ts'
import { namesIn } from '../names.ts'

const NEVER = 1_000_000

/**
 * A plain table of paths that takes each change alone. A directory's change speaks for all entries below; a
 * symlink's for the link alone.
 */
class Table {
  readonly names: Map<string, Kind>

  constructor(names: ReadonlyArray<[path: string, kind: Kind]>) {
    this.names = new Map(names)
  }

  apply(change: Change): void {
    if (!('mask' in change)) return
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

  /** Removes a path and the paths below it, and returns them with their kinds. */
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

type At = (path: string) => string
type Act = (at: At) => void

interface Session {
  title: string
  /** Makes a tree `t` and entries beside it. */
  lay: Act
  roots: string[]
  acts: Act[]
  options?: WatchOptions
}

/** Makes files with the directories above them, or directories if the path ends with a slash. */
function make(at: At, ...paths: string[]): void {
  for (const path of paths) {
    fs.mkdirSync(at(path.slice(0, path.lastIndexOf('/'))), { recursive: true })
    if (!path.endsWith('/')) fs.writeFileSync(at(path), path)
  }
}

const link = (target: string, path: string) => (at: At) => fs.symlinkSync(target, at(path))
const rename = (from: string, to: string) => (at: At) => fs.renameSync(at(from), at(to))
const exchange = (one: string, other: string) => (at: At) => renameWith(RENAME_EXCHANGE, at(one), at(other))
const remove = (path: string) => (at: At) => fs.rmSync(at(path), { recursive: true })
const made =
  (...paths: string[]) =>
  (at: At) =>
    make(at, ...paths)
const all =
  (...acts: Act[]) =>
  (at: At) => {
    for (const act of acts) act(at)
  }

const BESIDE = ['one/f', 'one/d/g', 'two/f', 'two/h', 'out/']
const flat = all(made(...BESIDE, 't/e/d/', 't/e/f'), link('../one', 't/l'), link('../two', 't/k'))
const deep = all(made(...BESIDE, 't/a/x', 't/e/y'), link('../../one', 't/a/l'))
const twice = all(flat, link('../two', 'one/m'))
const circle = all(made('one/f', 'one/g', 't/x', 't/f'), link('.', 't/l'))
const FLAT = { lay: flat, roots: ['t', 't/l'] }
const DEEP = { lay: deep, roots: ['t', 't/a/l'] }
const inPlace = all(remove('t/l'), made('t/l/f', 't/l/q'))

const SESSIONS: Session[] = [
  { title: 'the link is renamed, and back', ...FLAT, acts: [rename('t/l', 't/m'), rename('t/m', 't/l')] },
  { title: 'the link is removed, and made again', ...FLAT, acts: [remove('t/l'), link('../one', 't/l')] },
  {
    title: 'the link is made to another directory',
    ...FLAT,
    acts: [remove('t/l'), link('../two', 't/l')],
  },
  { title: 'the link is exchanged with another', ...FLAT, acts: [exchange('t/l', 't/k')] },
  { title: 'another link is renamed over it', ...FLAT, acts: [rename('t/k', 't/l')] },
  { title: 'it is renamed over another', ...FLAT, acts: [rename('t/l', 't/k')] },
  { title: 'a file is made behind it', ...FLAT, acts: [made('t/l/new'), remove('t/l')] },
  { title: 'a file moves to beside it', ...FLAT, acts: [rename('t/l/f', 't/f'), remove('t/l')] },
  { title: 'a directory takes its place', ...FLAT, acts: [remove('t/l'), made('t/l/f')] },
  {
    title: 'a directory takes its place, and it that',
    ...FLAT,
    acts: [inPlace, all(remove('t/l'), link('../one', 't/l'))],
  },
  {
    title: 'a directory is exchanged with it, and back',
    ...FLAT,
    acts: [exchange('t/l', 't/e'), exchange('t/l', 't/e')],
  },
  {
    title: 'a directory is given its name, and each its own again',
    ...FLAT,
    acts: [rename('t/l', 't/n'), rename('t/e', 't/l'), rename('t/l', 't/e'), rename('t/n', 't/l')],
  },
  {
    title: 'what it leads to is given its name',
    lay: all(made('t/one/f', 't/one/d/g'), link('one', 't/l')),
    roots: ['t', 't/l'],
    acts: [all(remove('t/l'), rename('t/one', 't/l')), all(rename('t/l', 't/one'), link('one', 't/l'))],
  },
  { title: 'the directory that it is in is removed', ...DEEP, acts: [remove('t/a')] },
  {
    title: 'the directory that it is in is renamed, and back',
    ...DEEP,
    acts: [rename('t/a', 't/b'), rename('t/b', 't/a')],
  },
  {
    title: 'the directory that it is in is moved out, and back',
    ...DEEP,
    acts: [rename('t/a', 'out/b'), rename('out/b', 't/a')],
  },
  {
    title: 'the directory that it is in is exchanged',
    ...DEEP,
    acts: [exchange('t/a', 't/e'), exchange('t/a', 't/e')],
  },
  {
    title: 'the directory that it is in is renamed, and another like it made',
    ...DEEP,
    acts: [all(rename('t/a', 't/b'), made('t/a/'), link('../../one', 't/a/l'))],
  },
  {
    title: 'the outer root is another directory, which has one in its place',
    lay: all(flat, made('n/l/f', 'n/l/q')),
    roots: ['t', 't/l'],
    acts: [all(rename('t', 'old'), rename('n', 't'))],
  },
  {
    title: 'likewise, the inner root added first',
    lay: all(flat, made('n/l/f', 'n/l/q')),
    roots: ['t/l', 't'],
    acts: [all(rename('t', 'old'), rename('n', 't'))],
  },
  {
    title: 'two links behind each other, directories for both',
    lay: twice,
    roots: ['t', 't/l', 't/l/m'],
    acts: [all(remove('t/l'), made('t/l/m/f', 't/l/f'))],
  },
  {
    title: 'two links behind each other, a directory with the second for the first',
    lay: twice,
    roots: ['t', 't/l', 't/l/m'],
    acts: [all(remove('t/l'), made('t/l/'), link('../../two', 't/l/m')), remove('t/l')],
  },
  {
    title: 'a root in a directory behind the link',
    lay: flat,
    roots: ['t', 't/l', 't/l/d'],
    acts: [all(remove('t/l'), made('t/l/d/g', 't/l/f')), all(remove('t/l'), link('../one', 't/l'))],
  },
  {
    title: 'followed where it is no circle: another link in its place',
    lay: circle,
    roots: ['t', 't/l'],
    acts: [all(link('../one', 't/tmp'), rename('t/tmp', 't/l'))],
    options: { followSymlinks: true },
  },
  {
    title: 'followed where it is no circle: a directory in its place',
    lay: circle,
    roots: ['t', 't/l'],
    acts: [inPlace],
    options: { followSymlinks: true },
  },
  {
    title: 'links are ignored: a directory in its place',
    ...FLAT,
    acts: [inPlace],
    options: { ignore: (_, kind) => kind === 'symlink' },
  },
  {
    title: 'what is not recursive: a directory in its place, which moves',
    ...FLAT,
    acts: [inPlace, rename('t/l', 'out/l'), rename('out/l', 't/l')],
    options: { recursive: false },
  },
]

/**
 * Returns the entries that all roots tell. A link is a directory if it is followed, else a symlink. Entries
 * behind a link at the path of a root are told as well.
 */
function toldIn(at: At, { roots, options = {} }: Session): Array<[path: string, kind: Kind]> {
  const { recursive = true, ignore } = options
  const found = new Map<string, Kind>()
  for (const root of roots.map(at)) {
    if (!fs.statSync(root, { throwIfNoEntry: false })?.isDirectory()) continue
    for (const [path, kind] of namesIn(root)) {
      const isHidden = typeof ignore === 'function' && ignore(path, kind)
      // A link in a circle leads to the directory above.
      const isCircle = fs.existsSync(join(path, 'x'))
      const isFollowed = options.followSymlinks && kind === 'symlink' && !isCircle
      if (!isHidden && (recursive || dirname(path) === root)) found.set(path, isFollowed ? 'directory' : kind)
    }
  }
  return [...found].toSorted()
}

/** The ways in which changes are found. */
const WAYS = ['events', 'events, one a read', 'a rescan', 'polls'] as const

// Quick runs play each session step by step in half of the ways and all at once in the others, in turn.
const isPlayed = (session: number, way: number, pace: number) => isLong || (session + way + pace) % 2 === 0

describe.each(WAYS.map((way, n) => [way, n] as const))('by %s', (way, ofWay) => {
  describe.each(SESSIONS.map((session, n) => [session.title, session, n] as const))('%s', (_, session, n) => {
    const { lay, roots, acts, options } = session
    const paces: Array<[pace: string, rounds: Act[][]]> = [
      ['each is told before the next', acts.map((act) => [act])],
      ['all at once', [acts]],
    ]
    test.each(paces.filter((_, pace) => isPlayed(n, ofWay, pace)))('%s', async (_, rounds) => {
      const base = scratch()
      const at = (path: string) => join(base, path)
      lay(at)
      const { system, lose } = losing()
      const { told } = await watching(
        roots.map(at),
        { backend: way === 'polls' ? 'poll' : 'inotify', recursive: true, interval: NEVER, ...options },
        way === 'events, one a read' ? readingOne() : system,
      )
      await told()
      const table = new Table(toldIn(at, session))
      const story: string[] = []
      for (const round of rounds) {
        if (way === 'a rescan') lose()
        for (const act of round) act(at)
        // The next poll looks for a lost root.
        const changes = [...(await told()), ...(await told())]
        story.push(...changes.map((change) => inWords(change, base)))
        for (const change of changes) table.apply(change)
        expect([...table.names].toSorted(), story.join('\n')).toEqual(toldIn(at, session))
      }
    })
  })
})
