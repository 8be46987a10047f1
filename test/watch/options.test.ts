import { describe, expect, test } from 'vitest'
import { watch } from '../../src/watch/calls.ts'
import { settingsOf, type WatchOptions } from '../../src/watch/options.ts'

const bad = (options: object) => () => settingsOf(options as WatchOptions, {})

test('defaults', () => {
  expect(settingsOf({}, {})).toMatchObject({
    backend: 'auto',
    interval: 250,
    initial: false,
    recursive: false,
    followSymlinks: false,
    followRoots: true,
    ignores: undefined,
    settle: undefined,
    encoding: 'utf8',
    signal: undefined,
    persistent: true,
  })
})

test.each([
  { backend: 'fanotify' },
  { backend: 'inotify+poll' },
  { interval: 0 },
  { interval: -5 },
  { interval: Number.NaN },
  { interval: Number.POSITIVE_INFINITY },
  { interval: 2 ** 31 },
  { interval: '250' },
  { interval: true },
  { maxWatches: 0 },
  { maxWatches: 1.5 },
  { maxWatches: '50%' },
  { pollBudget: 500 },
  { pollBudget: {} },
  { pollBudget: { requests: 0 } },
  { pollBudget: { cpu: '5%' } },
  { pollBudget: { cpus: 1 } },
  { initial: 1 },
  { persistent: 'no' },
  { recursive: 'yes' },
  { expand: 1 },
  { followSymlinks: 1 },
  { followRoots: 0 },
  { by: 'pid' },
  { settle: -1 },
  { settle: Number.NaN },
  { settle: 2 ** 31 },
  { settle: '5' },
  { signal: {} },
  { encoding: 'latin1' },
  { ignore: 'node_modules' },
  { ignore: /x/ },
  { ignore: [1] },
  { ignore: [''] },
])('%j is a TypeError that names it', (options) => {
  const [name] = Object.keys(options)
  expect(bad(options)).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringContaining(`options.${name}`),
    }),
  )
})

test.each<WatchOptions>([
  { recursive: true },
  { followSymlinks: true },
  { followRoots: false },
  { settle: 5 },
  { hash: true },
  { settle: 2 ** 31 - 1 },
  { encoding: 'buffer' },
])('%j is taken as it is', (options) => {
  expect(settingsOf(options, {})).toMatchObject(options)
})

test.each([
  { recursive: false },
  { settle: 0 },
  { hash: false },
  { encoding: 'utf8' },
  { signal: undefined },
])('%j is the default', (options) => {
  expect(bad(options)).not.toThrow()
})

test.each(['', 'a\0b', 5, undefined, null, ['/tmp', '']])('the path %j is a TypeError at once', (path) => {
  expect(() => watch(path as string)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }))
})

describe('the environment', () => {
  const [backend, interval] = ['INOTIFY_BRIDGE_BACKEND', 'INOTIFY_BRIDGE_INTERVAL']

  test('overrides the options', () => {
    const settings = settingsOf(
      { backend: 'inotify', interval: 5 },
      { [backend]: 'poll', [interval]: '1000' },
    )
    expect(settings).toMatchObject({ backend: 'poll', interval: 1000 })
  })

  test('empty is as good as unset', () => {
    expect(settingsOf({ interval: 5 }, { [backend]: '', [interval]: '' })).toMatchObject({
      backend: 'auto',
      interval: 5,
    })
  })

  test.each([
    [backend, 'both'],
    [interval, 'often'],
    [interval, '0'],
  ])('%s=%s is a TypeError that names it', (name, value) => {
    expect(() => settingsOf({}, { [name]: value })).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(`^${name}.*'?${value}`) }),
    )
  })
})
