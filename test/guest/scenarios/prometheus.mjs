// When Prometheus under `inotify-bridge run` reads its file_sd's file again that the kubelet swaps on the host, and how often. It says so in its metrics.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, clockOffset, memory, now, parameters, phase, report, share } from './host.mjs'
import { underRun } from './under_run.mjs'

const { interval, swaps } = parameters

/** @param {number} n */
const files = (n) => ({ 'targets.json': JSON.stringify([{ targets: [`host-${n}:1`] }]) })
await ask('swap', { files: files(0) })

const config = join(memory('config'), 'prometheus.yml')
const found = `file_sd_configs: [{ files: ['${share}/targets.json'], refresh_interval: 1h }]`
writeFileSync(config, `scrape_configs: [{ job_name: it, scrape_interval: 1h, ${found} }]\n`)
const address = '127.0.0.1:9090'
const argv = [
  `--config.file=${config}`,
  `--storage.tsdb.path=${memory('data')}`,
  `--web.listen-address=${address}`,
]
const { end, heard } = underRun(interval, ['prometheus', ...argv])
await heard('msg="Server is ready to receive web requests."', 0)

/** When the file was written that was read last, and how often it was read. */
async function asked() {
  const text = await (await fetch(`http://${address}/metrics`)).text()
  const [, written] = /^prometheus_sd_file_mtime_seconds\{.*\} (.*)$/m.exec(text) ?? []
  const [, scans] = /^prometheus_sd_file_scan_duration_seconds_count (.*)$/m.exec(text) ?? []
  return { written, scans: Number(scans) }
}

const { offset } = await clockOffset()
const first = await asked()
/** @type {number[]} */
const latencies = []
/** @type {number[]} */
const scans = []
for (let n = 1; n <= swaps; n++) {
  // It tells the time in seconds.
  await sleep(1000 + phase(n) * interval)
  const before = await asked()
  const { began } = await ask('swap', { files: files(n) })
  while ((await asked()).written === before.written) await sleep(5)
  latencies.push(now() + offset - began)
  scans.push(before.scans)
}
await sleep(1000)
const last = await asked()
await end()
report({ latencies, scans: last.scans - first.scans })
