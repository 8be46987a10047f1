import { isUtf8 } from 'node:buffer'

/** A word of a line. A quoted one is never an option and never a handle. */
export interface Word {
  text: string
  quoted: boolean
}

const QUOTED = /^"(?:[^"\\]|\\.)*"(?=\s|$)/

/** Words are apart by blanks; one that has blanks or control characters in it is a JSON string. Throws an Error that says why not. */
export function splitWords(line: string): Word[] {
  const words: Word[] = []
  for (let rest = line.trim(); rest !== ''; rest = rest.trimStart()) {
    const quoted = rest.startsWith('"')
    const found = (quoted ? QUOTED : /^\S+/).exec(rest)?.[0]
    if (found === undefined) throw new Error(`a quoted word does not end: ${rest}`)
    words.push({ text: quoted ? unquote(found) : found, quoted })
    rest = rest.slice(found.length)
  }
  return words
}

function unquote(word: string): string {
  try {
    return JSON.parse(word)
  } catch {
    throw new Error(`not a JSON string: ${word}`)
  }
}

/** A text as a script spells it: quoted where it must be. */
export function spell(text: string): string {
  return /^[^\s"\p{C}]+$/u.test(text) ? text : JSON.stringify(text).replaceAll('\x7f', '\\u007f')
}

// A byte that is no UTF-8 is a lone surrogate: 0xff is "\udcff".
const STRAY_BYTE = /([\udc80-\udcff])/u

export function bytesOf(text: string): Buffer {
  const part = (piece: string) =>
    STRAY_BYTE.test(piece) ? Buffer.from([piece.charCodeAt(0) & 0xff]) : Buffer.from(piece)
  return Buffer.concat(text.split(STRAY_BYTE).map(part))
}

/** The inverse of {@link bytesOf}. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const sizes = [1, 2, 3, 4].filter((size) => at + size <= bytes.length)
    const size = sizes.find((size) => isUtf8(bytes.subarray(at, at + size)))
    text +=
      size === undefined
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString('utf8', at, at + size)
    at += size ?? 1
  }
  return text
}
