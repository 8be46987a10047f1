import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/shared/option.ts'
import { PLAIN, rowFormat } from '../../src/cli/watch/event_format.ts'

const row = { watched: 'd/', name: 'f', events: 'CLOSE_WRITE,CLOSE', cookie: 0 }
const hostile = { watched: 'd\x1b[2J/', name: 'a\nb\\\x9b\u202e', events: 'CREATE', cookie: 0 }

// Output of inotifywait 3.22.6, found by running it. inotifywait.test.ts runs it where it is installed.
test.each([
  ['%w%f %e', 'd/f CLOSE_WRITE,CLOSE'],
  ['%:e|% e|%;e', 'CLOSE_WRITE:CLOSE|CLOSE_WRITE CLOSE|CLOSE_WRITE;CLOSE'],
  ['%€e', 'CLOSE_WRITE€CLOSE'],
  ['%we %fe %ee %ce %ne %0e %%e', 'd/e fe CLOSE_WRITE,CLOSEe 0e \ne \0e %e'],
  ['text\t\x1b', 'text\t\x1b'],
  ['', ''],
])('%j', (format, expected) => {
  expect(rowFormat(format, undefined, false)(row)).toBe(expected)
  expect(rowFormat(format, undefined, true)(row)).toBe(`${expected}\n`)
})

test('%c is in hexadecimal', () => {
  expect(rowFormat('%c', undefined, false)({ ...row, cookie: 0x8a3 })).toBe('8a3')
})

test('%T is the time now', () => {
  const before = Math.floor(Date.now() / 1000)
  const printed = rowFormat('%T', '[%s]', false)(row)
  const seconds = Number(/^\[(\d+)\]$/.exec(printed)?.[1])
  expect(seconds).toBeGreaterThanOrEqual(before)
  expect(seconds).toBeLessThanOrEqual(Date.now() / 1000)
})

test.each([
  ['%z', "--format does not know '%z'; it takes %w %f %e %Xe %T %c %n %0 %%"],
  ['100%', "'%'"],
  ['%XT', "'%X'"],
  ['%\x1b', "'%\\x1b'"],
  ['%T', '--timefmt says how'],
])('%j is refused', (format, words) => {
  expect(() => rowFormat(format, undefined, true)).toThrow(UsageError)
  expect(() => rowFormat(format, undefined, true)).toThrow(words)
})

describe('control characters in names', () => {
  test('are escaped', () => {
    const printed = rowFormat(PLAIN, undefined, true)(hostile)
    expect(printed).toBe('d\\x1b[2J/ CREATE a\\nb\\\\\\x9b\\u202e\n')
  })

  test('and are as they are where a NUL ends them', () => {
    expect(rowFormat('%w%f%0', undefined, false)(hostile)).toBe('d\x1b[2J/a\nb\\\x9b\u202e\0')
  })
})
