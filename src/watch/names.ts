import { isUtf8 } from 'node:buffer'

/**
 * The key of a name: its text or, where its bytes are no UTF-8, a string that no other name has. Each byte above 0x7f of such a name
 * is a lone surrogate U+DC80 to U+DCFF, which no UTF-8 decodes to. As text two such names can be one ("\ufffd"), and one of
 * them would be lost.
 */
export function keyOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/[\x80-\xff]/g, (byte) => String.fromCharCode(0xdc00 + byte.charCodeAt(0)))
}

/** The exact bytes of the name, or the text that stands for them. */
export function nameOf(key: string): string | Buffer {
  // charCode & 0xff, which is what latin1 keeps.
  return LONE_SURROGATE.test(key) ? Buffer.from(key, 'latin1') : key
}

/** For people and for paths: what is no UTF-8 is U+FFFD. */
export function textOf(key: string): string {
  return nameOf(key).toString()
}

const LONE_SURROGATE = /\p{Surrogate}/u
