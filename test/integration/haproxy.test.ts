// The real HAProxy, as a master and its worker: the master is sent SIGUSR2, and starts another worker.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFailed, onTestFinished, test } from 'vitest'
import { Load } from '../../examples/nginx-reload/load.mjs'
import { isThere, textOf } from '../../examples/stage.mjs'
import { publishDirectory } from '../../src/publish/publish.ts'
import { MAIN, Program, Run } from '../cli/command.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { freePort, PATIENCE, told } from './programs.ts'

const SWAPS = rounds(process.env.SWAPS, { quick: 5, long: 10 })

/**
 * With expose-fd, the next worker takes the very listening sockets over, with the connections that wait in
 * their queues.
 */
const configuration = (directory: string, port: number, page: string) => `global
  stats socket ${directory}/socket mode 600 level admin expose-fd listeners
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend web
  bind 127.0.0.1:${port}
  http-request return status 200 content-type text/plain string "${page}"
`

describe.skipIf(!isThere('haproxy') || !existsSync(MAIN))('HAProxy (needs haproxy and dist)', () => {
  test(`${SWAPS} swaps under a constant load: as many reloads, no request fails, an invalid one is refused`, async () => {
    const [directory, port] = [scratch(), await freePort()]
    const config = join(directory, 'config')
    mkdirSync(config)
    const show = (page: string) =>
      publishDirectory(config, { 'haproxy.cfg': configuration(directory, port, page) })
    await show('page 0')
    const [file, pidFile, url] = [
      join(config, 'haproxy.cfg'),
      join(directory, 'pid'),
      `http://127.0.0.1:${port}/`,
    ]
    const haproxy = new Program('haproxy', ['-W', '-f', file, '-p', pidFile])
    await expect.poll(() => textOf(url), PATIENCE).toBe('page 0')
    const run = new Run([
      ...['reload', '--delay', '50', '--retry', '100', '--json', config],
      ...['--validate=haproxy', '--validate-arg=-c', '--validate-arg=-f', `--validate-arg=${file}`],
      ...['--signal', 'USR2', '--pid-file', pidFile],
    ])
    onTestFailed(() => console.log(`${run.stdout}${run.stderr}${haproxy.stderr}`))
    await run.until('stdout', /"ready"/)

    const load = new Load(url)
    onTestFinished(() => load.stop())
    for (let n = 1; n <= SWAPS; n++) {
      await show(`page ${n}`)
      await expect.poll(() => textOf(url), PATIENCE).toBe(`page ${n}`)
      await expect.poll(() => told(run, 'reload').length, PATIENCE).toBe(n)
      // HAProxy 2.6 serves before its master is done, and loses a SIGUSR2 that comes in between.
      await expect.poll(() => haproxy.stderr.match(/Former worker/g)?.length, PATIENCE).toBe(n)
    }
    await publishDirectory(config, { 'haproxy.cfg': 'no_such_section\n' })
    await expect.poll(() => told(run, 'failed').length, PATIENCE).toBeGreaterThanOrEqual(2)
    expect(told(run, 'failed')[0]).toMatchObject({
      stage: 'validate',
      reason: "'haproxy': exit code 1",
      output: expect.stringContaining('no_such_section'),
    })
    await show('page last')
    await expect.poll(() => textOf(url), PATIENCE).toBe('page last')
    await load.stop()
    const { requests, failures } = load
    console.log(`  HAProxy: ${SWAPS + 1} reloads, ${requests} requests, ${failures.length} failed`)
    expect(failures).toEqual([])
    expect(requests).toBeGreaterThan(10 * SWAPS)
    expect(haproxy.stderr.match(/Reloading HAProxy/g)).toHaveLength(SWAPS + 1)
    expect(haproxy.stderr).not.toMatch(/\[(ALERT|EMERG)\]/)
  })
})
