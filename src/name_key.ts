import { isUtf8 } from 'node:buffer'

/**
 * The key of a name: its text or, where its bytes are no UTF-8, a string that no other name has. Each byte above 0x7f of such a name
 * is a lone surrogate U+DC80 to U+DCFF, which no UTF-8 decodes to. As text two such names can be one ("\ufffd"), and one of
 * them would be lost.
 */
export function keyOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  // At once: a string put together from 255 is slow to find in a table.
  const units = Buffer.allocUnsafe(2 * bytes.length)
  let length = 0
  for (const byte of bytes) {
    units[length++] = byte
    units[length++] = byte < 0x80 ? 0 : UPPER_BYTE
  }
  return units.toString('utf16le')
}

/** Events, of which this is all that a key needs. */
interface NamedEvents {
  name(i: number): string
  nameBytes(i: number): Buffer
}

/** {@link keyOf} of the name of an event. */
export function keyAt(batch: NamedEvents, i: number): string {
  const name = batch.name(i)
  return name.includes('\ufffd') ? keyOf(batch.nameBytes(i)) : name
}

/** A path of which each component is a key: {@link pathOf} of it has these bytes. */
export function keysOf(path: Buffer): string {
  if (isUtf8(path)) return path.toString()
  const names = path.toString('latin1').split('/')
  return names.map((name) => keyOf(Buffer.from(name, 'latin1'))).join('/')
}

/** The exact bytes of a name, or of a path, whose components are keys, or the text that stands for them. */
export function pathOf(keys: string): string | Buffer {
  if (keys.isWellFormed()) return keys
  // charCode & 0xff, which is what latin1 keeps, is each byte.
  if (!NO_BYTE.test(keys)) return Buffer.from(keys, 'latin1')
  // No character takes more bytes in UTF-8.
  const bytes = Buffer.allocUnsafe(MOST_BYTES * keys.length)
  let length = 0
  for (const [i, key] of keys.split('/').entries()) {
    if (i > 0) length += bytes.write('/', length)
    length += bytes.write(key, length, key.isWellFormed() ? 'utf8' : 'latin1')
  }
  return Buffer.from(bytes.subarray(0, length))
}

/** For people, and for calls that take a string: what is no UTF-8 is U+FFFD. */
export function textOf(keys: string): string {
  return keys.isWellFormed() ? keys : pathOf(keys).toString()
}

// The upper byte of U+DC80 to U+DCFF.
const UPPER_BYTE = 0xdc
// By code units: half of a character beyond U+FFFF is none.
const NO_BYTE = /[^\0-\x7f\udc80-\udcff]/
const MOST_BYTES = 3
