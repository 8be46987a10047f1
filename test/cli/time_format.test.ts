import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/shared/option.ts'
import { timeFormat } from '../../src/cli/watch/event_format.ts'

const zone = process.env.TZ
afterEach(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

// Midnight and noon, both ends of a year, a leap day, both sides of a switch of summer time, one-digit days.
const TIMES = [
  '2024-02-29T12:00:00Z',
  '2024-12-31T23:59:59Z',
  '2025-01-01T00:00:00Z',
  '2026-03-29T00:59:59Z',
  '2026-03-29T01:00:00Z',
  '2026-10-25T01:30:00Z',
  '2026-06-07T04:05:06Z',
  '1999-08-09T10:11:12Z',
  '2100-03-01T13:00:01Z',
].map((text) => new Date(text))

const EVERY = '%F|%T|%s|%Y|%y|%m|%d|%H|%M|%S|%%|%%Y|text'

describe.each(['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Kiritimati'])(
  'in %s',
  (TZ) => {
    // date(1) is strftime(3).
    test.each(TIMES)('every conversion is what strftime makes of %s', (time) => {
      process.env.TZ = TZ
      const expected = execFileSync('date', ['-d', `@${time.getTime() / 1000}`, `+${EVERY}`], {
        encoding: 'utf8',
        env: { ...process.env, TZ, LC_ALL: 'C' },
      })
      expect(`${timeFormat(EVERY)(time)}\n`).toBe(expected)
    })
  },
)

test.each([
  ['%Z', "--timefmt does not know '%Z'; it takes %F %T %s"],
  ['%N', "--timefmt does not know '%N'"],
  ['%-d', "--timefmt does not know '%-'"],
  ['10%', "--timefmt does not know '%'"],
  ['%%%', "--timefmt does not know '%'"],
  ['%\x1b', "--timefmt does not know '%\\x1b'"],
])('%s is refused', (format, words) => {
  expect(() => timeFormat(format)).toThrow(UsageError)
  expect(() => timeFormat(format)).toThrow(words)
})
