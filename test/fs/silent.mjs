// Runs in a mount namespace of its own: what is watched through a FUSE mount is changed behind it, of which no event tells; what inotify-bridge/fs and node:fs say of that
// is printed as JSON.
//
//   unshare -m node silent.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [, , base = ''] = process.argv
/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/entries/fs.ts')} */
const bridge = await import(join(import.meta.dirname, '../../dist/fs.js'))
const [behind, mount] = [join(base, 'behind'), join(base, 'mount')]
fs.mkdirSync(join(behind, 'd'), { recursive: true })
fs.mkdirSync(mount)
fs.writeFileSync(join(behind, 'f'), '')
const { status, stderr } = spawnSync('bindfs', [behind, mount], { encoding: 'utf8' })
if (status !== 0) throw new Error(stderr)
/** @type {Record<string, Set<string>>} */
const said = { node: new Set(), flat: new Set(), file: new Set(), tree: new Set() }
/** @param {string} who */
const note = (who) => (/** @type {string} */ type, /** @type {unknown} */ name) =>
  void said[who]?.add(`${type} ${name}`)
const watchers = [
  fs.watch(mount, note('node')),
  bridge.watch(mount, note('flat')),
  bridge.watch(join(mount, 'f'), note('file')),
  bridge.watch(mount, { recursive: true }, note('tree')),
]
// What is there when a poll is made for the first time is what there was.
await sleep(1000)
fs.writeFileSync(join(behind, 'f'), 'more')
fs.writeFileSync(join(behind, 'new'), '')
fs.writeFileSync(join(behind, 'd/deep'), '')
const isOver = () =>
  said.flat?.has('rename new') && said.file?.has('change f') && said.tree?.has('rename d/deep')
for (const end = Date.now() + 30_000; !isOver() && Date.now() < end; ) await sleep(20)
for (const watcher of watchers) watcher.close()
console.log(
  JSON.stringify(Object.fromEntries(Object.entries(said).map(([who, events]) => [who, [...events].sort()]))),
)
