// Watches the whole share with a relay, which the host has at the other end of a serial line, and measures when watch() tells of what the
// host changes, and what a quiet share costs.
import { execFileSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ReadStream, WriteStream } from 'node:tty'
import { ask, clockOffset, library, memory, name, now, parameters, report, share } from './host.mjs'

/** @type {{ files: number, rounds: number, quiet: number }} */
const { files, rounds, quiet } = parameters

const LINE = '/dev/hvc0'
const line = openSync(LINE, 'r+')
// Of the open line: the driver forgets it at the last close.
execFileSync('stty', ['raw', '-echo'], { stdio: [line, 'inherit', 'inherit'] })
const [fromHost, toHost] = [new ReadStream(line), new WriteStream(line)]
const path = join(memory('relay'), 'socket')
createServer((socket) => {
  socket.pipe(toHost, { end: false })
  fromHost.pipe(socket)
  socket.on('error', () => {}).on('close', () => fromHost.unpipe(socket))
}).listen(path)

await ask('many', { path: 'files', count: files })
const began = now()
const root = dirname(share)
const watcher = library.watch(root, { recursive: true, interval: 60_000, relay: `unix:${path}` })
/** @type {string[]} */
const errors = []
watcher.on('error', ({ message }) => errors.push(message))
await watcher.ready
const ready = now() - began
const isTrusted = () => watcher.coverage()[0]?.why.includes('its relay tells of changes, and a poll')
while (!isTrusted()) await sleep(50)
const trusted = now() - began
// The line had the words of an earlier connection, too, and each of them has the share polled once.
do {
  await ask('requests', { gap: 1 })
  await sleep(2000)
} while ((await ask('requests', { gap: 1 })).passes.length > 0)

let awaited = ''
let arrived = () => {}
watcher.on('changes', (changes) => {
  if (changes.some(({ path }) => path === awaited)) arrived()
})
const { offset, error } = await clockOffset()
/** @type {number[]} */
const latencies = []
for (let n = -1; n < rounds; n++) {
  const file = `files/${n + 1}/${(n + 1) * 100 + 5}`
  awaited = join(root, name, file)
  /** @type {Promise<void>} */
  const next = new Promise((resolve) => {
    arrived = resolve
  })
  const { began } = await ask('in-place', { path: file, text: 'two' })
  await next
  // The first compiles the code.
  if (n >= 0) latencies.push(now() + offset - began)
}
await ask('requests', { gap: 1 })
await sleep(quiet)
const { passes } = await ask('requests', { gap: 1 })
report({ latencies, error, requests: passes, ready, trusted, errors, isTrusted: isTrusted() })
