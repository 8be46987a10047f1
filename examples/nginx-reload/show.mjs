import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publishDirectory } from '../../dist/index.js'
import { CONTAINER, freePort, MAIN, onStage, say, textOf, until } from '../stage.mjs'
import { configuration } from './configuration.mjs'
import { Load } from './load.mjs'

const SWAPS = 10

await onStage({ programs: ['nginx'], namespace: CONTAINER }, async ({ directory, start }) => {
  const config = join(directory, 'config')
  await mkdir(config)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  /** @param {string} page */
  const show = (page) => publishDirectory(config, { 'nginx.conf': configuration(directory, port, page) })

  await show('page 0')
  const log = join(directory, 'error.log')
  const conf = ['-p', directory, '-c', join(config, 'nginx.conf')]
  start('nginx', [...conf, '-e', log, '-g', 'daemon off;'])
  await until('nginx answers', async () => (await textOf(url)) === 'page 0')

  const validation = ['nginx', ...[...conf, '-e', 'stderr', '-t'].map((arg) => `--validate-arg=${arg}`)]
  const signal = ['--signal', 'HUP', '--pid-file', join(directory, 'nginx.pid')]
  const pace = ['--delay', '50', '--retry', '100']
  const bridge = start(process.execPath, [
    MAIN,
    ...['reload', ...pace, config, '--validate', ...validation],
    ...signal,
  ])
  await until('reload is ready', () => /^ready: /m.test(bridge.output))
  const times = (/** @type {RegExp} */ pattern) => bridge.output.match(pattern)?.length ?? 0

  const load = new Load(url)
  for (let n = 1; n <= SWAPS; n++) {
    await show(`page ${n}`)
    await until(`page ${n} is served`, async () => (await textOf(url)) === `page ${n}`)
  }
  await until('the last is reported', () => times(/^reload /gm) === SWAPS)
  const huped = (await readFile(log, 'utf8')).match(/\(SIGHUP\) received/g)?.length
  say(`${SWAPS} swaps of the ConfigMap under a constant load: ${times(/^reload /gm)} reloads, ${huped} HUPs`)

  await publishDirectory(config, { 'nginx.conf': 'http { no_such_directive; }' })
  await until('nginx -t has refused it twice', () => times(/validate failed/g) >= 2)
  say(`an invalid one: ${/validate failed: .*/.exec(bridge.output)?.[0]}, and tried again`)
  say(`  ${/\[emerg\].*/.exec(bridge.output)?.[0]}`)
  // For a moment a worker that is to end may still answer.
  await until('page 10 is served', async () => (await textOf(url)) === 'page 10')
  say(`  served meanwhile: page 10; nginx has not heard of it: ${await isUntouched(log, SWAPS)}`)

  await show('page 11')
  await until('page 11 is served', async () => (await textOf(url)) === 'page 11')
  await load.stop()
  say('a good one again: page 11')
  say(`requests: ${load.requests > 0 ? 'many' : 'none'}, failed: ${load.failures.length}`)
  for (const failure of load.failures) say(`  ${failure}`)
})

/** @param {string} log @param {number} hups */
async function isUntouched(log, hups) {
  const text = await readFile(log, 'utf8')
  return text.match(/\(SIGHUP\) received/g)?.length === hups && !text.includes('[emerg]')
}
