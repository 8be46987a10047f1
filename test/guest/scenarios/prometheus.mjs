// Counts how often Prometheus under `inotify-bridge run` reads its file_sd's file again, which the kubelet
// swaps on the host, and if it does so in time. Its metrics tell.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, clockOffset, memory, now, parameters, phase, report, share } from './host.mjs'
import { underRun } from './under_run.mjs'

/** `within`: ms from the beginning of a swap. */
const { interval, swaps, within } = parameters

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

/** Returns the time of the file that was read last, and the number of reads. */
async function asked() {
  const text = await (await fetch(`http://${address}/metrics`)).text()
  const [, written] = /^prometheus_sd_file_mtime_seconds\{.*\} (.*)$/m.exec(text) ?? []
  const [, scans] = /^prometheus_sd_file_scan_duration_seconds_count (.*)$/m.exec(text) ?? []
  return { written, scans: Number(scans) }
}

const { offset } = await clockOffset()
const first = await asked()
let inTime = 0
for (let n = 1; n <= swaps; n++) {
  // The metric has the time in seconds.
  await sleep(1000 + phase(n) * interval)
  const { written } = await asked()
  const { began } = await ask('swap', { files: files(n) })
  // A question takes this processor longer than a look.
  await sleep(began + within - (now() + offset))
  for (let isFirst = true; ; isFirst = false) {
    if ((await asked()).written === written) continue
    if (isFirst) inTime++
    break
  }
}
await sleep(1000)
const last = await asked()
await end()
report({ inTime, scans: last.scans - first.scans })
