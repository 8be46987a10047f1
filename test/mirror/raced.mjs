// Runs in a mount namespace, on a tmpfs of its own: mirrors a ConfigMap that is swapped again and again while it is read, and prints as
// JSON what the mirror said and what is in the target in the end.
//
//   unshare -m[r] node raced.mjs plain|FUSE|bindfs KEYS FILES SWAPS PAUSE DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { mount } from './fuse_mount.mjs'
import { lay, version } from './layouts.mjs'

const [, , kind = '', keys = '', files = '', swaps = '', pause = '', base = ''] = process.argv

/** @param {number} n */
function layout(n) {
  const named = (/** @type {string} */ prefix, /** @type {string} */ count) =>
    Object.fromEntries(
      Array.from({ length: Number(count) }, (_, i) => [`${prefix}${i}`, version(n).slice(0, 64)]),
    )
  return { keys: named('key', keys), files: named('flat', files) }
}

/** The writer, on a thread of its own: a pass must not wait for it, nor it for a pass. */
async function write() {
  for (let n = 1; n <= Number(swaps); n++) {
    lay(workerData, layout(n))()
    await sleep(Number(pause))
  }
}

async function play() {
  /** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
  const { mirror } = await import(join(import.meta.dirname, '../../dist/index.js'))
  if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
  const [back, target] = [join(base, 'back'), join(base, 'target')]
  fs.mkdirSync(back)
  lay(back, layout(0))
  const front = await mount(kind, back, join(base, 'front'))
  const started = await mirror(front, target, { interval: 20, quiet: 1 })
  /** @type {Array<[string, string]>} */
  const states = []
  let [updates, raced] = [0, 0]
  started.on('state', (...state) => states.push(state))
  started.on('update', () => updates++)
  started.on('skipped', () => raced++)
  const writer = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: back })
  await new Promise((resolve, reject) => void writer.on('exit', resolve).on('error', reject))
  while (started.skipped.length > 0) await started.refresh()
  await started.refresh()
  const last = layout(Number(swaps))
  const wrong = Object.entries({ ...last.keys, ...last.files }).filter(
    ([name, content]) => fs.readFileSync(join(target, name), 'utf8') !== content,
  )
  await started.close()
  process.stdout.write(JSON.stringify({ states: states.slice(0, -1), wrong, updates, raced }))
  process.exit()
}

if (isMainThread) await play()
else await write()
