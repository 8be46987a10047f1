import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { publishDirectory } from '../../dist/index.js'
import { freePort, MAIN, onStage, say, textOf, until } from '../stage.mjs'

await onStage({ programs: ['prometheus'] }, async ({ directory, start }) => {
  const config = join(directory, 'config')
  await mkdir(config)
  const url = `http://127.0.0.1:${await freePort()}`
  /** @param {string} yaml */
  const publish = (yaml) => publishDirectory(config, { 'prometheus.yml': yaml })
  const good = (/** @type {number} */ n) => `global:\n  external_labels: { version: "${n}" }\n`
  const metric = async (/** @type {string} */ name) => {
    const line = new RegExp(`^prometheus_config_last_reload_${name} (.*)$`, 'm')
    return Number(line.exec(await textOf(`${url}/metrics`))?.[1])
  }

  await publish(good(1))
  start('prometheus', [
    `--config.file=${join(config, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=${new URL(url).host}`,
    '--web.enable-lifecycle',
  ])
  await until('prometheus is ready', async () => /ready/i.test(await textOf(`${url}/-/ready`)))

  const pace = ['--delay', '50', '--retry', '200']
  const bridge = start(process.execPath, [MAIN, 'reload', ...pace, config, '--http', `${url}/-/reload`])
  await until('reload is ready', () => /^ready: /m.test(bridge.output))

  const before = await metric('success_timestamp_seconds')
  await publish(good(2))
  await until('the reload is reported', () => /^reload /m.test(bridge.output))
  const isLater = (await metric('success_timestamp_seconds')) > before
  if (!isLater) throw new Error('prometheus has not loaded the new configuration')
  say(`new configuration loaded: prometheus_config_last_reload_successful = ${await metric('successful')}`)
  const loaded = await textOf(`${url}/api/v1/status/config`)
  say(`  what prometheus has loaded says version ${/version: [^0-9]*(\d+)/.exec(loaded)?.[1]}`)

  await publish('no_such_field: 1\n')
  await until('it has failed twice', () => (bridge.output.match(/action failed/g)?.length ?? 0) >= 2)
  say(`an invalid one: ${/action failed: .* (\d+)\b/.exec(bridge.output)?.[0].replace(url, '')}, tried again`)
  say(`  successful ${await metric('successful')}`)

  await publish(good(2))
  await until('it is good again', async () => (await metric('successful')) === 1)
  say(`put back to what it was: successful ${await metric('successful')}`)
})
