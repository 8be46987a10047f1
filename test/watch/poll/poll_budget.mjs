// Runs in a user and mount namespace. Watches a large tree behind FUSE with a budget for polls, has files change there, and prints as JSON what that took.
//
//   unshare -rm node poll_budget.mjs SERVER FRONT DIRECTORIES FILES REQUESTS SECONDS

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))

const [, , program = '', front = '', ...numbers] = process.argv
const [directories = 0, files = 0, requests = 0, seconds = 0] = numbers.map(Number)
const CPU = 0.05

const server = spawn('setpriv', ['--pdeathsig', 'KILL', program, front, String(directories), String(files)], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
if ((await lines.next()).value !== 'ready') {
  process.stdout.write(JSON.stringify({ unable: 'FUSE' }))
  process.exit()
}

/** @returns {Promise<number>} */
async function asked() {
  server.stdin.write('count\n')
  return Number((await lines.next()).value)
}

/** User and system time of this process, in s, by /proc/self/stat. */
function cpu() {
  const fields = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const begun = performance.now()
const watcher = watch(front, { recursive: true, interval: 250, pollBudget: { cpu: CPU, requests } })
await watcher.ready
const ready = performance.now() - begun
const latency = () => watcher.coverage()[0]?.latency ?? 0

/** The moments at which files were touched that nothing was told of yet. @type {Map<string, number>} */
const untold = new Map()
/** ms from a touch to its change: the first of a directory, and those right behind that. */
const [cold, hot] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])]
/** The directories in which somebody works, from the first change that is told on. @type {Set<string>} */
const worked = new Set()
let wrong = 0
let isOver = false

/** @param {string} directory @param {number} file */
function touch(directory, file) {
  untold.set(join(front, directory, `f${file}`), performance.now())
  server.stdin.write(`touch ${directory.slice(1)} ${file}\n`)
}

watcher.on('changes', (changes) => {
  for (const { type, path } of changes) {
    const at = untold.get(path)
    if (type !== 'modify' || at === undefined) {
      wrong++
      continue
    }
    untold.delete(path)
    const [directory = '', file = ''] = path.slice(front.length + 1).split('/f')
    ;(worked.has(directory) ? hot : cold).push(performance.now() - at)
    if (worked.size < 3) worked.add(directory)
    if (!worked.has(directory)) continue
    const again = () => {
      if (!isOver) touch(directory, (Number(file) + 1) % files)
    }
    setTimeout(again, 2000 * Math.random())
  }
})

await sleep(1000)
const [usedBefore, askedBefore, from] = [cpu(), await asked(), performance.now()]
// Neighbours have their turn at the same time: these are far from each other.
for (let i = 0; i < 20; i++) touch(`d${Math.floor((i * directories) / 20)}`, i % files)
let longest = 0
while (performance.now() - from < seconds * 1000) {
  longest = Math.max(longest, latency())
  await sleep(200)
}
isOver = true
const took = (performance.now() - from) / 1000
const result = {
  ready: Math.round(ready),
  latency: Math.round(longest),
  cpu: (cpu() - usedBefore) / took,
  requests: ((await asked()) - askedBefore) / took,
  seconds: took,
  cold: cold.map(Math.round),
  hot: hot.map(Math.round),
  untold: [...untold.keys()].filter((path) => !worked.has(path.slice(front.length + 1).split('/')[0] ?? ''))
    .length,
  wrong,
}
await watcher.close()
server.stdin.end()
await once(server, 'exit')
process.stdout.write(JSON.stringify(result))
