// Content of the sources' files: a header with the source, the version and the size, and then one character again and again. By the
// header a reader knows the version, and sees a torn file. ../../native/target_reader.c checks the same.

/** The header of an empty file. */
export const EMPTY = ''

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/** @param {{ tag: string, source: number, version: number, size: number }} of `size` is a wish: a header has its own @returns {string} */
export function contentOf({ tag, source, version, size }) {
  if (size === 0) return EMPTY
  const name = Buffer.from(tag).toString('hex')
  const head = `@${name}|${source}|${version}|`
  // The size counts its own digits.
  const least = head.length + String(size).length + 1
  const whole = Math.max(size, least + 1)
  return `${head}${whole}|`.padEnd(whole, LETTERS.charAt(version % LETTERS.length))
}

/** The header of a whole content; of any other what is wrong with it. @param {Buffer} content */
export function headerOf(content) {
  if (content.length === 0) return EMPTY
  const text = content.toString('latin1')
  const [, head, version, size] = /^(@[0-9a-f]*\|\d+\|(\d+)\|(\d+)\|)/.exec(text) ?? []
  if (head === undefined) return `no content of the test's: ${JSON.stringify(text.slice(0, 40))}`
  const filling = LETTERS.charAt(Number(version) % LETTERS.length).repeat(Number(size) - head.length)
  return text === head + filling ? head : `torn: ${head} and ${text.length} bytes`
}
