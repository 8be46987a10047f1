// The times at which files are told: pure but for timers, which are the test's.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { settingsOf } from '../../src/chokidar/options.ts'
import { Pace } from '../../src/chokidar/pace.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function pacing(options: Parameters<typeof settingsOf>[0] = {}) {
  const told: string[] = []
  const pace = new Pace(settingsOf(options), (event, path) => void told.push(`${event} ${path}`))
  /** Returns the events of the next ms. */
  const within = (ms: number) => {
    vi.advanceTimersByTime(ms)
    return told.splice(0)
  }
  return { pace, within }
}

test('a file that is made and written is added once, when it is closed', () => {
  const { pace, within } = pacing()
  pace.tell('add', 'f', false)
  pace.tell('change', 'f', false)
  expect(within(10)).toEqual([])
  pace.tell('change', 'f', true)
  expect(within(0)).toEqual(['add f'])
  expect(within(1000)).toEqual([])
})

test('one that stays open is told all the same, again and again while it is written to', () => {
  const { pace, within } = pacing()
  pace.tell('add', 'f', false)
  expect(within(55)).toEqual(['add f'])
  for (let i = 0; i < 100; i++) {
    pace.tell('change', 'f', false)
    vi.advanceTimersByTime(10)
  }
  const told = within(100)
  expect(told.length).toBeGreaterThan(10)
  expect(told.length).toBeLessThan(25)
})

test('changes in quick succession are the first and one at the end: the last is told', () => {
  const { pace, within } = pacing()
  for (let i = 0; i < 5; i++) pace.tell('change', 'f', true)
  expect(within(0)).toEqual(['change f'])
  expect(within(60)).toEqual(['change f'])
  expect(within(1000)).toEqual([])
})

test('atomic: what comes back within the time has changed, else it is gone', () => {
  const { pace, within } = pacing()
  pace.tell('unlink', 'f', true)
  expect(within(90)).toEqual([])
  pace.tell('add', 'f', true)
  expect(within(0)).toEqual(['change f'])
  pace.tell('unlink', 'f', true)
  expect(within(110)).toEqual(['unlink f'])
  expect(within(1000)).toEqual([])
})

test.each([
  [{ atomic: false }, 0],
  [{ atomic: 300 }, 300],
  [{ usePolling: true }, 100],
  [{ usePolling: true, atomic: false }, 0],
])('%o: %d ms', (options, ms) => {
  const { pace, within } = pacing(options)
  pace.tell('unlink', 'f', true)
  if (ms > 0) expect(within(ms - 1)).toEqual([])
  expect(within(1)).toEqual(['unlink f'])
})

test('awaitWriteFinish: when nothing was written for so long; what went before that was never there', () => {
  const { pace, within } = pacing({ awaitWriteFinish: { stabilityThreshold: 200 } })
  pace.tell('add', 'f', false)
  for (let i = 0; i < 5; i++) {
    expect(within(150)).toEqual([])
    pace.tell('change', 'f', true)
  }
  expect(within(199)).toEqual([])
  expect(within(1)).toEqual(['add f'])
  pace.tell('add', 'g', true)
  pace.tell('unlink', 'g', true)
  pace.tell('change', 'f', true)
  pace.tell('unlink', 'f', true)
  expect(within(1000)).toEqual(['unlink f'])
})

test('awaitWriteFinish with atomic: what came back has changed, when it is written', () => {
  const { pace, within } = pacing({ awaitWriteFinish: { stabilityThreshold: 200 } })
  pace.tell('unlink', 'f', true)
  within(50)
  pace.tell('add', 'f', false)
  expect(within(199)).toEqual([])
  expect(within(1)).toEqual(['change f'])
})

test('what is forgotten is not told', () => {
  const { pace, within } = pacing({ awaitWriteFinish: true })
  pace.tell('add', 'd/f', true)
  pace.tell('unlink', 'd/g', true)
  pace.tell('add', 'f', true)
  pace.forget((path) => path.startsWith('d/'))
  expect(within(3000)).toEqual(['add f'])
})

test.each([{ atomic: -1 }, { interval: Number.NaN }, { awaitWriteFinish: { stabilityThreshold: -1 } }])(
  '%o is refused',
  (options) => {
    expect(() => settingsOf(options)).toThrow(TypeError)
  },
)
