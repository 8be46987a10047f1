import { expect, test } from 'vitest'
import { escapeInvisible, InotifyError, invalidArgument, printable } from '../src/errors.ts'
import { warnOfAbandonedThread } from '../src/mounts/syscalls/abandoned_thread.ts'
import { warn } from '../src/warning.ts'

/** Each as it is escaped: controls, marks and overrides of direction, separators, the byte order mark. */
const INVISIBLE: ReadonlyArray<readonly [string, string]> = [
  ['\0', '\\x00'],
  ['\n', '\\n'],
  ['\x1b', '\\x1b'],
  ['\x7f', '\\x7f'],
  ['\x9b', '\\x9b'],
  ['\u061c', '\\u061c'],
  ...[0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e].map(escaped),
  ...[0x2066, 0x2067, 0x2068, 0x2069, 0xfeff].map(escaped),
]

function escaped(code: number): readonly [string, string] {
  return [String.fromCharCode(code), `\\u${code.toString(16)}`]
}

const NASTY = INVISIBLE.map(([character]) => character).join('')
const SHOWN = INVISIBLE.map(([, text]) => text).join('')

test('what is not to be seen, or turns the text around it, is escaped; and the backslash', () => {
  for (const [character, text] of INVISIBLE) expect(printable(`a${character}b`)).toBe(`a${text}b`)
  expect(printable('\\u202e')).toBe('\\\\u202e')
  expect(escapeInvisible(`\\${NASTY}`)).toBe(`\\${SHOWN}`)
})

test('names of all languages are left as they are', () => {
  // Joiners (U+200C, U+200D) are letters' own, in Persian and of families of emoji.
  for (const name of ['café', 'نامه\u200cها', '👩\u200d👩\u200d👧', '文件', 'e\u0301'])
    expect(printable(name)).toBe(name)
})

test("an error's message escapes the path and the hint; `path` is as it is", () => {
  const error = new InotifyError({ errno: 'EEXIST', syscall: 'open', path: NASTY, hint: `as '${NASTY}' is` })
  expect(error.message).toBe(`EEXIST: file already exists, open '${SHOWN}' (as '${SHOWN}' is)`)
  expect(error.path).toBe(NASTY)
  expect(invalidArgument('path', NASTY, 'another').message).toBe(`path must be another; got '${SHOWN}'`)
})

test('a warning of this library is escaped, and one line', async () => {
  const seen: Error[] = []
  const listener = (warning: Error) => void seen.push(warning)
  process.on('warning', listener)
  warn('INOTIFY_BRIDGE_TEST', `about ${NASTY}`, 'what to do')
  warnOfAbandonedThread(`/a\u202e\n`, 1000)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listener)
  expect(seen).toMatchObject([
    {
      name: 'InotifyBridgeWarning',
      code: 'INOTIFY_BRIDGE_TEST',
      message: `about ${SHOWN}`,
      detail: 'what to do',
    },
    {
      code: 'INOTIFY_BRIDGE_LEFT_BEHIND',
      message: 'a thread is left behind: /a\\u202e\\n has not answered for 1 s',
    },
  ])
})
