import { lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as bits from '../../src/inotify/constants.ts'
import type { RawEvent, RawReader } from './raw_reader.ts'

const ASKED = 'CREATE DELETE MOVED_FROM MOVED_TO MODIFY CLOSE_WRITE ATTRIB DELETE_SELF MOVE_SELF'.split(' ')
const TOLD = [...ASKED, 'IGNORED', 'UNMOUNT', 'Q_OVERFLOW', 'ISDIR']
const numbers = new Map(Object.entries(bits))
const bit = (name: string) => numbers.get(`IN_${name}`) as number
const MASK = ASKED.reduce((mask, name) => mask | bit(name), 0)

type Side = 'plain' | 'served'
const SIDES = ['plain', 'served'] as const

/** Two readers of the same directories, who are asked for the same watches and have to be told the same. */
export class Comparison {
  readonly #readers: Record<Side, RawReader>
  /** Paths as each of them has them, as what is done has, and behind the mount. */
  readonly #places: Record<Side | 'own' | 'back', string>
  /** The path that each watch descriptor was asked for by. */
  readonly #watched: Record<Side, Map<number, string>> = { plain: new Map(), served: new Map() }
  readonly #mask: number
  readonly #inodes = new Set<string>()
  #mark = ''
  #marks = 0

  /** `flags`: of inotify_add_watch(2), besides the events. */
  constructor(readers: Record<Side, RawReader>, places: Record<Side | 'own' | 'back', string>, flags = 0) {
    this.#readers = readers
    this.#mask = MASK | flags
    this.#places = places
  }

  /** A directory of its own below, in which it makes what has to be told last. */
  async mark(directory: string): Promise<void> {
    this.#mark = directory
    await this.#add(Buffer.from(join(this.#places.own, directory)))
  }

  /** Watches what has not been watched yet, and the directories below it. Nothing else is done meanwhile. */
  async watch(path: Buffer, recursive: boolean): Promise<void> {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return
    const inode = `${stats.ino} ${stats.birthtimeMs}`
    if (!this.#inodes.has(inode)) await this.#add(path)
    this.#inodes.add(inode)
    if (!recursive || !stats.isDirectory()) return
    for (const name of readdirSync(path, { encoding: 'buffer' })) {
      const below = Buffer.concat([path, Buffer.from('/'), name])
      if (lstatSync(below).isDirectory()) await this.watch(below, true)
    }
  }

  /** Resolves to the words that each reader was told since the last call. */
  async told(): Promise<Record<Side, string[]>> {
    const events: Record<Side, RawEvent[]> = { plain: [], served: [] }
    const ends = (side: Side) => events[side].filter(({ mask }) => mask & bit('IGNORED')).length
    await this.#take(events, this.#places.own)
    // A look that finds this mark has found all that was done before, and may tell of that behind the mark.
    await this.#take(events, this.#places.back)
    await this.#take(events, this.#places.own)
    // A directory that the supervisor holds open has not ended for the plain reader of the same mount.
    for (let i = 0; i < 20 && ends('plain') < ends('served'); i++) await this.#take(events, this.#places.own)
    return { plain: this.#words('plain', events.plain), served: this.#words('served', events.served) }
  }

  /** Makes a mark, and takes what is told to that. */
  async #take(events: Record<Side, RawEvent[]>, place: string): Promise<void> {
    const mark = `mark${this.#marks++}`
    writeFileSync(join(place, this.#mark, mark), '')
    const isMark = ({ name, mask }: RawEvent) => name === mark && (mask & bit('CLOSE_WRITE')) !== 0
    for (const side of SIDES)
      if (side === 'served' || this.#sees(place))
        events[side].push(...(await this.#readers[side].until(isMark)))
  }

  /** The plain reader: of a mount, what is done through it. */
  #sees(place: string): boolean {
    return place === this.#places.own
  }

  async #add(path: Buffer): Promise<void> {
    const below = path.subarray(this.#places.own.length)
    for (const side of SIDES) {
      const wd = await this.#readers[side].add(
        Buffer.concat([Buffer.from(this.#places[side]), below]),
        this.#mask,
      )
      this.#watched[side].set(wd, below.toString('latin1').replace(/^[/]\d+/, ''))
    }
  }

  /** In the order of what is watched, and in each in the order in which it was told. Neighbours that are alike are one. */
  #words(side: Side, events: readonly RawEvent[]): string[] {
    const cookies: number[] = []
    const told = new Map<string, string[]>()
    for (const { wd, mask, cookie, name } of events) {
      const watched = this.#watched[side].get(wd)
      if (watched === undefined || watched.endsWith('/mark')) continue
      const names = TOLD.filter((name) => mask & bit(name))
      if (names.includes('IGNORED')) this.#watched[side].delete(wd)
      const isPaired = cookie !== 0 && /MOVED/.test(names.join())
      if (isPaired && !cookies.includes(cookie)) cookies.push(cookie)
      const inode = name.replace(/^#\d+$/, '#INODE')
      const word = `${watched}: ${names.join()} ${inode}${isPaired ? ` ${cookies.indexOf(cookie)}` : ''}`
      const before = told.get(watched) ?? []
      // A writer who was interrupted between open(2) and write(2) may be told as two.
      if (before.at(-1) === word.replace(' MODIFY', ' CLOSE_WRITE')) before.pop()
      if (before.at(-1) !== word) told.set(watched, [...before, word])
    }
    return [...told].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, words]) => words)
  }
}
