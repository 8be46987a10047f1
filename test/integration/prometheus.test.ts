// The real Prometheus: what a reload came to is asked of its own metrics.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isThere, textOf } from '../../examples/stage.mjs'
import { publishDirectory } from '../../src/publish/publish.ts'
import { MAIN, Program, Run } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'
import { freePort, PATIENCE, told } from './programs.ts'

const INVALID = 'no_such_field: 1\n'
const version = (n: number) => `global:\n  external_labels: { version: "${n}" }\n`

describe.skipIf(!isThere('prometheus') || !existsSync(MAIN))('Prometheus (needs prometheus and dist)', () => {
  /** Prometheus, ready, and `inotify-bridge reload` of its configuration. */
  async function prometheus(...validation: string[]) {
    const directory = scratch()
    const config = join(directory, 'config')
    mkdirSync(config)
    const publish = (yaml: string) => publishDirectory(config, { 'prometheus.yml': yaml })
    await publish(version(0))
    const url = `http://127.0.0.1:${await freePort()}`
    const file = join(config, 'prometheus.yml')
    new Program('prometheus', [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
      '--web.enable-lifecycle',
    ])
    await expect.poll(() => textOf(`${url}/-/ready`), PATIENCE).toMatch(/ready/i)
    const args = ['--delay', '50', '--retry', '100', '--json', config, '--http', `${url}/-/reload`]
    const validating = validation.map((word, n) =>
      n === 0 ? `--validate=${word}` : `--validate-arg=${word.replace('FILE', file)}`,
    )
    const run = new Run(['reload', ...args, ...validating])
    await run.until('stdout', /"ready"/)
    const metric = async (name: string) => {
      const line = (await textOf(`${url}/metrics`)).split('\n').find((each) => each.startsWith(`${name} `))
      return Number(line?.slice(name.length))
    }
    return {
      publish,
      run,
      /** 1 or 0. */
      successful: () => metric('prometheus_config_last_reload_successful'),
      succeededAt: () => metric('prometheus_config_last_reload_success_timestamp_seconds'),
      /**
       * Returns how often a reload was requested with success, and without. Prometheus counts when it has
       * answered.
       */
      asked: async () =>
        (
          await Promise.all(
            [200, 500].map((code) =>
              metric(`prometheus_http_requests_total{code="${code}",handler="/-/reload"}`),
            ),
          )
        ).map((n) => n || 0),
      loaded: async () => /version: [^0-9]*(\d+)/.exec(await textOf(`${url}/api/v1/status/config`))?.[1],
    }
  }

  test('each swap is loaded, by one request', async () => {
    const { publish, run, successful, succeededAt, asked, loaded } = await prometheus()
    for (let n = 1; n <= 10; n++) {
      const before = await succeededAt()
      await publish(version(n))
      await expect.poll(() => told(run, 'reload').length, PATIENCE).toBe(n)
      expect(await loaded()).toBe(String(n))
      expect(await successful()).toBe(1)
      expect(await succeededAt()).toBeGreaterThan(before)
    }
    await expect.poll(asked, PATIENCE).toEqual([10, 0])
    expect(told(run, 'failed')).toEqual([])
  })

  test('what it refuses is tried again, and what was good before is loaded again after that', async () => {
    const { publish, run, successful, succeededAt, asked, loaded } = await prometheus()
    await publish(version(1))
    await expect.poll(() => told(run, 'reload').length, PATIENCE).toBe(1)
    const before = await succeededAt()
    await publish(INVALID)
    await expect.poll(() => told(run, 'failed').length, PATIENCE).toBeGreaterThanOrEqual(3)
    expect(told(run, 'failed')[0]).toMatchObject({
      stage: 'action',
      reason: expect.stringMatching(/\/-\/reload was answered with 500/),
      output: expect.stringContaining('no_such_field'),
    })
    expect(await successful()).toBe(0)
    await expect.poll(async () => (await asked())[1], PATIENCE).toBeGreaterThanOrEqual(3)
    // Prometheus was asked to reload what it refused. Only another request makes its metric, and an alert by
    // that metric, good again.
    await publish(version(1))
    await expect.poll(() => told(run, 'reload').length, PATIENCE).toBe(2)
    expect(await successful()).toBe(1)
    expect(await succeededAt()).toBeGreaterThan(before)
    expect(await loaded()).toBe('1')
  })

  test.skipIf(!isThere('promtool'))(
    'what promtool refuses it is never asked for (needs promtool)',
    async () => {
      const { publish, run, successful, asked } = await prometheus('promtool', 'check', 'config', 'FILE')
      await publish(INVALID)
      await expect.poll(() => told(run, 'failed').length, PATIENCE).toBeGreaterThanOrEqual(2)
      expect(told(run, 'failed')[0]).toMatchObject({
        stage: 'validate',
        output: expect.stringContaining('no_such_field'),
      })
      expect(await asked()).toEqual([0, 0])
      await publish(version(1))
      await expect.poll(() => told(run, 'reload').length, PATIENCE).toBe(1)
      await expect.poll(asked, PATIENCE).toEqual([1, 0])
      expect(await successful()).toBe(1)
    },
  )
})
