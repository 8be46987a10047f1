import { expect, test } from 'vitest'
import {
  formatMask,
  IN_ALL_EVENTS,
  IN_CLOSE,
  IN_CREATE,
  IN_ISDIR,
  IN_MOVED_TO,
  IN_ONESHOT,
  IN_Q_OVERFLOW,
} from '../../src/index.ts'
import * as constants from '../../src/inotify/constants.ts'

test.each([
  [IN_MOVED_TO, 'IN_MOVED_TO'],
  [IN_MOVED_TO | IN_ISDIR, 'IN_MOVED_TO|IN_ISDIR'],
  [IN_Q_OVERFLOW, 'IN_Q_OVERFLOW'],
  [IN_CLOSE, 'IN_CLOSE_WRITE|IN_CLOSE_NOWRITE'],
  [0, '0'],
  [IN_CREATE | 0x1000, 'IN_CREATE|0x1000'],
])('formatMask(%i) is %s', (mask, text) => {
  expect(formatMask(mask)).toBe(text)
})

test('bit 31 is named, also in the negative number that | makes of it', () => {
  expect(formatMask(IN_ONESHOT)).toBe('IN_ONESHOT')
  expect(IN_CREATE | IN_ONESHOT).toBeLessThan(0)
  expect(formatMask(IN_CREATE | IN_ONESHOT)).toBe('IN_CREATE|IN_ONESHOT')
})

test('IN_ALL_EVENTS is spelt out', () => {
  expect(formatMask(IN_ALL_EVENTS).split('|')).toHaveLength(12)
})

test('every bit of <sys/inotify.h> has its name', () => {
  const flagsOfInit = ['IN_CLOEXEC', 'IN_NONBLOCK']
  const bits = Object.entries(constants).filter(([, bit]) => Number.isInteger(Math.log2(bit)))
  expect(bits.length).toBe(24)
  for (const [name, bit] of bits) if (!flagsOfInit.includes(name)) expect(formatMask(bit)).toBe(name)
})
