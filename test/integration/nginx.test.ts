// The real nginx: reloaded by `inotify-bridge reload` as process 1 of a pid namespace, as in a container that
// runs both. Only this test can tell how a reload affects clients with requests under way.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configuration } from '../../examples/nginx-reload/configuration.mjs'
import { Load } from '../../examples/nginx-reload/load.mjs'
import { CONTAINER, isThere, mayUnshare, textOf } from '../../examples/stage.mjs'
import { publishDirectory } from '../../src/publish/publish.ts'
import { MAIN, Program } from '../cli/command.ts'
import { childrenOf } from '../cli/pid_namespace.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { freePort, PATIENCE, told as toldOf, zombiesIn } from './programs.ts'

const SWAPS = rounds(process.env.SWAPS, { quick: 10, long: 15 })

describe.skipIf(!isThere('nginx') || !mayUnshare(CONTAINER) || !existsSync(MAIN))(
  'nginx (needs nginx, unshare and dist)',
  () => {
    /**
     * Starts nginx and `inotify-bridge reload`, process 1 of their namespace, and waits until nginx answers.
     */
    async function pod(...target: string[]) {
      const [directory, port] = [scratch(), await freePort()]
      const config = join(directory, 'config')
      mkdirSync(config)
      const show = (page: string) =>
        publishDirectory(config, { 'nginx.conf': configuration(directory, port, page) })
      await show('page 0')
      const nginx = ['nginx', '-c', join(config, 'nginx.conf'), '-p', directory, '-e']
      const validation = [...nginx.slice(1), 'stderr', '-t'].map((arg) => `--validate-arg=${arg}`)
      const args = ['--delay', '50', '--retry', '100', '--json', config, '--validate', 'nginx', ...validation]
      // nginx goes to the background, and so becomes a child of process 1.
      const start = ['sh', '-c', '"$1" "$2" "$3" "$4" "$5" "$6" "$7" && shift 7 && exec "$@"', 'sh']
      const run = new Program('unshare', [
        ...CONTAINER,
        ...start,
        ...nginx,
        join(directory, 'error.log'),
        ...[
          process.execPath,
          MAIN,
          'reload',
          ...args,
          ...target.map((word) => word.replace('DIR', directory)),
        ],
      ])
      await run.until('stdout', /"ready"/)
      const url = `http://127.0.0.1:${port}/`
      await expect.poll(() => textOf(url), PATIENCE).toBe('page 0')
      const told = (event: string) => toldOf(run, event)
      const log = () => readFileSync(join(directory, 'error.log'), 'utf8')
      return { run, config, url, show, told, log }
    }

    test(`${SWAPS} swaps under a constant load: as many reloads, and no request fails`, async () => {
      const { run, config, url, show, told, log } = await pod('--signal', 'HUP', '--process', 'nginx')
      const [pid = 0] = childrenOf(run.pid)
      const load = new Load(url)
      onTestFinished(() => load.stop())
      const began = performance.now()
      for (let n = 1; n <= SWAPS; n++) {
        await show(`page ${n}`)
        await expect.poll(() => textOf(url), PATIENCE).toBe(`page ${n}`)
        // nginx serves the page as soon as it has the signal, and the event follows a moment later.
        await expect.poll(() => told('reload').length, PATIENCE).toBe(n)
        if (n % 25 > 0) continue
        const failures = told('failed').length
        await publishDirectory(config, { 'nginx.conf': 'http { no_such_directive; }' })
        await expect.poll(() => told('failed').length, PATIENCE).toBeGreaterThanOrEqual(failures + 2)
        // Polls, because a worker that is to end may still answer for a moment.
        await expect.poll(() => textOf(url), PATIENCE).toBe(`page ${n}`)
      }
      const seconds = (performance.now() - began) / 1000
      await load.stop()
      const { requests, failures } = load
      console.log(
        `  nginx: ${SWAPS} reloads in ${seconds.toFixed(1)} s, ${requests} requests, ${failures.length} failed; ` +
          `${told('failed').length} times an invalid configuration was refused`,
      )
      expect(failures).toEqual([])
      expect(requests).toBeGreaterThan(10 * SWAPS)
      expect([...load.answers.keys()].every((page) => /^page \d+$/.test(page))).toBe(true)
      for (const { changed } of told('reload')) expect(changed).toEqual(['nginx.conf'])
      for (const failed of told('failed'))
        expect(failed).toMatchObject({
          stage: 'validate',
          reason: "'nginx': exit code 1",
          output: expect.stringContaining('unknown directive "no_such_directive"'),
        })
      // nginx logs each HUP, and an invalid configuration.
      expect(log().match(/\bsignal 1 \(SIGHUP\) received\b.*reconfiguring/g)).toHaveLength(SWAPS)
      expect(log()).not.toMatch(/\[(emerg|alert|crit|error)\]/)
      expect(zombiesIn(`/proc/${pid}/root/proc`)).toEqual([])
      expect(run.stderr).toBe('')
      process.kill(pid, 'SIGTERM')
      expect(await run.ended()).toMatchObject({ code: 0 })
    })

    test('by its pid file, and again after it was put back to what it was', async () => {
      const { url, show, told, config } = await pod('--signal', 'HUP', '--pid-file', 'DIR/nginx.pid')
      await show('page 1')
      await expect.poll(() => textOf(url), PATIENCE).toBe('page 1')
      await publishDirectory(config, { 'nginx.conf': 'nonsense' })
      await expect.poll(() => told('failed').length, PATIENCE).toBeGreaterThan(0)
      await show('page 1')
      await expect.poll(() => told('recovered').length, PATIENCE).toBe(1)
      expect(told('reload')).toHaveLength(1)
      await expect.poll(() => textOf(url), PATIENCE).toBe('page 1')
    })
  },
)
