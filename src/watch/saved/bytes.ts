import { keyOf, pathOf } from '../../name_key.ts'

const FOLD = 2 ** 53
const HALF = 2 ** 52

/** What is read is not what was written. */
export class TornError extends Error {
  override readonly name = 'TornError'
}

/** Numbers and names, one after another, in a block that grows. */
export class ByteWriter {
  #block: Buffer = Buffer.allocUnsafe(64 * 1024)
  #end = 0

  byte(value: number): void {
    this.#reserve(1)
    this.#block[this.#end++] = value
  }

  /** An integer of 0 or more, in seven bits a byte. Beyond 2^53 exact where a number is. */
  varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest >= 2 ** 31) {
      this.#block[this.#end++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest >= 128) {
      this.#block[this.#end++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.#block[this.#end++] = rest
  }

  /** How far one number of 53 bits is from another, the shorter way round: see {@link ByteReader.from}. */
  from(base: number, value: number): void {
    let distance = value - base
    if (distance >= HALF) distance -= FOLD
    else if (distance < -HALF) distance += FOLD
    this.varint(distance >= 0 ? 2 * distance : -2 * distance - 1)
  }

  double(value: number): void {
    this.#reserve(8)
    this.#end = this.#block.writeDoubleLE(value, this.#end)
  }

  /** A name or a path, as a key (see name_key.ts): its exact bytes. */
  key(key: string): void {
    const path = pathOf(key)
    if (typeof path === 'string') this.text(path)
    else this.bytes(path)
  }

  text(text: string): void {
    // No character takes more bytes in UTF-8. Most are short: their length takes one byte.
    this.#reserve(3 * text.length + 5)
    const bytes = this.#block.write(text, this.#end + 1)
    if (bytes >= 128) {
      this.bytes(Buffer.from(text))
      return
    }
    this.#block[this.#end] = bytes
    this.#end += 1 + bytes
  }

  /** 16 bytes as latin1. */
  latin1(text: string): void {
    this.bytes(Buffer.from(text, 'latin1'))
  }

  /** What was written, which is not to be written to any more. */
  take(): Buffer {
    return this.#block.subarray(0, this.#end)
  }

  bytes(bytes: Buffer): void {
    this.varint(bytes.length)
    this.#reserve(bytes.length)
    this.#end += bytes.copy(this.#block, this.#end)
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#block.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#block.length, this.#end + bytes))
    this.#block.copy(larger, 0, 0, this.#end)
    this.#block = larger
  }
}

/** Reads what a {@link ByteWriter} has written. All of it throws {@link TornError} where that is not to be had. */
export class ByteReader {
  readonly #block: Buffer
  #next = 0

  constructor(block: Buffer) {
    this.#block = block
  }

  get isAtEnd(): boolean {
    return this.#next === this.#block.length
  }

  byte(): number {
    const value = this.#block[this.#next]
    if (value === undefined) throw new TornError('it ends too early')
    this.#next++
    return value
  }

  varint(): number {
    let value = 0
    for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    throw new TornError('a number is too long')
  }

  /** How many of something follow, each of which takes a byte at least. */
  count(): number {
    const value = this.varint()
    if (value > this.#block.length - this.#next) throw new TornError('there is less than it says')
    return value
  }

  /** See {@link ByteWriter.from}. */
  from(base: number): number {
    const coded = this.varint()
    const distance = Math.floor(coded / 2)
    // Beyond 2^53 a sum would be rounded.
    if (coded % 2 === 0) return base >= FOLD - distance ? base - (FOLD - distance) : base + distance
    const value = base - distance - 1
    return value < 0 ? value + FOLD : value
  }

  double(): number {
    if (this.#next + 8 > this.#block.length) throw new TornError('it ends too early')
    const value = this.#block.readDoubleLE(this.#next)
    this.#next += 8
    return value
  }

  key(): string {
    return keyOf(this.bytes())
  }

  text(): string {
    return this.bytes().toString()
  }

  latin1(): string {
    return this.bytes().toString('latin1')
  }

  bytes(): Buffer {
    const length = this.count()
    const bytes = this.#block.subarray(this.#next, this.#next + length)
    this.#next += length
    return bytes
  }
}
