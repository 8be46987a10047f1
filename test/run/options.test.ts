// --backend, and the variables of the environment that override the options.
import { describe, expect, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { obstacle, RUN, Served } from './served.ts'

/** The report of a watch of a directory on a mount that delivers all. */
async function sourceOf(environment: readonly string[], options: readonly string[]): Promise<string> {
  const once = [compile('run_load'), 'cycles', scratch(), '1']
  const run = new Served(['env', ...environment, RUN, ...options, '--json', '--', ...once])
  expect(await run.end()).toBe(0)
  return JSON.parse(run.said).source
}

describe.skipIf(obstacle !== '')(`run's options${obstacle && ` (${obstacle})`}`, () => {
  test.each([
    [[], [], 'inotify'],
    [[], ['--backend', 'auto'], 'inotify'],
    [[], ['--backend', 'poll'], 'poll'],
    [[], ['--backend=inotify'], 'inotify'],
    [[], ['--all'], 'poll'],
    [['INOTIFY_BRIDGE_BACKEND=poll'], [], 'poll'],
    [['INOTIFY_BRIDGE_BACKEND=poll'], ['--backend', 'inotify'], 'poll'],
    [['INOTIFY_BRIDGE_BACKEND=inotify'], ['--all'], 'inotify'],
    [['INOTIFY_BRIDGE_BACKEND='], ['--all'], 'poll'],
  ])('%j %j: %s', async (environment, options, source) => {
    expect(await sourceOf(environment, options)).toBe(source)
  })

  test.each([
    [
      'INOTIFY_BRIDGE_BACKEND=fanotify',
      "INOTIFY_BRIDGE_BACKEND takes 'auto', 'inotify' or 'poll', and not fanotify",
    ],
    [
      'INOTIFY_BRIDGE_INTERVAL=soon',
      'INOTIFY_BRIDGE_INTERVAL takes milliseconds, from 1 to 86400000, and not soon',
    ],
  ])('%s: 2', async (variable, sentence) => {
    const run = new Served(['env', variable, RUN, '--interval', '5', '--', 'echo', 'started'])
    expect(await run.end()).toBe(2)
    expect(run.said).toBe(`inotify-bridge run: ${sentence} (see 'inotify-bridge run --help')\n`)
    expect(run.lines).toEqual([])
  })

  test.each([
    'unix:',
    `unix:${'x'.repeat(108)}`,
    'tcp:localhost:7000',
    'tcp:1.2.3:7000',
    'tcp:1.2.3.256:7000',
    'tcp:1.2.3.4:0',
    'tcp:1.2.3.4:65536',
    'tcp:1.2.3.4:000007',
    'tcp:1.2.3.4:7000x',
    'tcp: 1.2.3.4:7000',
    'vsock:7000',
  ])('--relay %s: 2', async (address) => {
    const run = new Served([RUN, '--relay', address, '--', 'echo', 'started'])
    expect(await run.end()).toBe(2)
    expect(run.said).toContain(
      `--relay takes unix:PATH, or tcp:HOST:PORT with an IPv4 address, and not ${address} (see`,
    )
    expect(run.lines).toEqual([])
  })

  test('--relay where nothing is looked at: 2', async () => {
    const run = new Served(['env', 'INOTIFY_BRIDGE_BACKEND=inotify', RUN, '--relay=unix:/r', '--', 'true'])
    expect(await run.end()).toBe(2)
    expect(run.said).toContain('--relay does not go with --backend inotify, which looks at nothing (see')
  })
})
