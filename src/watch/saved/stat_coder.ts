import type { Stat } from '../scan/entry.ts'
import { type ByteReader, type ByteWriter, TornError } from './bytes.ts'

// What a stat says besides, in one byte before it.
const CTIME_IS_ODD = 1
const MTIME_IS_CTIME = 2
const BTIME_IS_ODD = 4
const HAS_CONTENT = 8
const CTIME_IS_OF_ANOTHER_AGE = 16

const AGE = 2 ** 53
// Times in ms since the epoch are whole numbers of these from 2004 to 2039: a number of JavaScript's has no finer ones then.
const QUANTA = 4096

/** What was coded last: entries that follow each other are much alike, and what differs is all that is coded. */
class Neighbour {
  ctime = 0
  age = 0
}

/** Codes stats, each by how it differs from the one before: some 12 bytes each, where they take 56. */
export class StatEncoder {
  readonly #writer: ByteWriter
  readonly #last = new Neighbour()
  readonly #classes = new Map<string, number>()
  // Those of one key after another are the same ones, as a rule.
  #lastClass: { stat: Stat; number: number } | undefined

  constructor(writer: ByteWriter) {
    this.#writer = writer
  }

  add(stat: Stat): void {
    const writer = this.#writer
    const last = this.#last
    const { size, mtime, ctime, ctimeMs, btimeMs, content } = stat
    const age = ageOf(ctime, ctimeMs)
    const [birth, change] = [btimeMs * QUANTA, ctimeMs * QUANTA]
    const isBirthOdd = !isWhole(birth) || !isWhole(change)
    const flags =
      (age === undefined ? CTIME_IS_ODD : age === last.age ? 0 : CTIME_IS_OF_ANOTHER_AGE) |
      (mtime === ctime ? MTIME_IS_CTIME : 0) |
      (isBirthOdd ? BTIME_IS_ODD : 0) |
      (content === undefined ? 0 : HAS_CONTENT)
    writer.byte(flags)
    this.#addClass(stat)
    writer.varint(size)
    if (flags & CTIME_IS_OF_ANOTHER_AGE) writer.varint(age as number)
    writer.from(last.ctime, ctime)
    if (age === undefined) writer.double(ctimeMs)
    else last.age = age
    last.ctime = ctime
    if (mtime !== ctime) writer.from(ctime, mtime)
    if (isBirthOdd) writer.double(btimeMs)
    else writer.from(change, birth)
    if (content !== undefined) writer.latin1(content)
  }

  #addClass(stat: Stat): void {
    const { mode, uid, gid, nlink } = stat
    const last = this.#lastClass?.stat
    if (last?.mode === mode && last.uid === uid && last.gid === gid && last.nlink === nlink) {
      this.#writer.varint(this.#lastClass?.number as number)
      return
    }
    const key = `${mode} ${uid} ${gid} ${nlink}`
    const known = this.#classes.get(key)
    const number = known ?? this.#classes.size
    this.#writer.varint(number)
    if (known === undefined) {
      this.#classes.set(key, number)
      for (const each of [mode, uid, gid, nlink]) this.#writer.varint(each)
    }
    this.#lastClass = { stat, number }
  }
}

/** Reads what a {@link StatEncoder} has written. */
export class StatDecoder {
  readonly #reader: ByteReader
  readonly #last = new Neighbour()
  readonly #classes: Array<Pick<Stat, 'mode' | 'uid' | 'gid' | 'nlink'>> = []

  constructor(reader: ByteReader) {
    this.#reader = reader
  }

  read(): Stat {
    const reader = this.#reader
    const last = this.#last
    const flags = reader.byte()
    const { mode, uid, gid, nlink } = this.#readClass()
    const size = reader.varint()
    if (flags & CTIME_IS_OF_ANOTHER_AGE) last.age = reader.varint()
    const ctime = reader.from(last.ctime)
    const ctimeMs = flags & CTIME_IS_ODD ? reader.double() : millisecondsOf(ctime, last.age)
    last.ctime = ctime
    const mtime = flags & MTIME_IS_CTIME ? ctime : reader.from(ctime)
    const btimeMs = flags & BTIME_IS_ODD ? reader.double() : reader.from(ctimeMs * QUANTA) / QUANTA
    const stat: Stat = { mode, uid, gid, nlink, size, mtime, ctime, ctimeMs, btimeMs }
    if (flags & HAS_CONTENT) stat.content = reader.latin1()
    return stat
  }

  #readClass(): Pick<Stat, 'mode' | 'uid' | 'gid' | 'nlink'> {
    const reader = this.#reader
    const number = reader.varint()
    if (number === this.#classes.length) {
      const [mode, uid, gid, nlink] = [reader.varint(), reader.varint(), reader.varint(), reader.varint()]
      this.#classes.push({ mode, uid, gid, nlink })
    }
    const known = this.#classes[number]
    if (known === undefined) throw new TornError('it speaks of a mode that it has not named')
    return known
  }
}

/**
 * What is missing of a time in ns that was folded into 53 bits, so that its ms can be told: undefined, if they are not those of the same time. See record.h of the addon, also for
 * how the ms are computed.
 */
function ageOf(folded: number, ms: number): number | undefined {
  const age = Math.floor((ms * 1e6) / AGE)
  if (!(age >= 0 && age < 2 ** 11)) return undefined
  if (millisecondsOf(folded, age) === ms) return age
  // Where one age ends and the next begins, what was rounded may have got to the other side.
  return [age - 1, age + 1].find((each) => each >= 0 && millisecondsOf(folded, each) === ms)
}

function millisecondsOf(folded: number, age: number): number {
  // Added at last: that is where it is rounded.
  return (age * AGE + restOf(folded, age)) / 1e6
}

/** ns since the age began: the lowest 11 bits were folded with those of the age, by exclusive or. */
function restOf(folded: number, age: number): number {
  const low = folded % 2 ** 31
  return folded - low + ((low ^ age) >>> 0)
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
