// Runs in a mount namespace of its own. Changes entries behind a FUSE mount, without any event in the mount.
// Prints as JSON the events of inotify-bridge/fs and node:fs.
//
//   unshare -m node silent.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/entries/fs.ts')} */
const bridge = await import(join(import.meta.dirname, '../../dist/fs.js'))
const [behind, mount] = [join(base, 'behind'), join(base, 'mount')]
fs.mkdirSync(join(behind, 'd'), { recursive: true })
fs.mkdirSync(mount)
fs.writeFileSync(join(behind, 'f'), '')
const { status, stderr } = spawnSync('bindfs', [behind, mount], { encoding: 'utf8' })
if (status !== 0) throw new Error(stderr)
/** @type {Record<string, Set<string>>} */
const said = { node: new Set(), flat: new Set(), file: new Set(), tree: new Set() }
const isOver = () =>
  said.flat?.has('rename new') && said.file?.has('change f') && said.tree?.has('rename d/deep')
/** @type {() => void} */
let end = () => {}
const over = new Promise((resolve) => {
  end = () => resolve(undefined)
})
/** @param {string} who */
const note = (who) => (/** @type {string} */ type, /** @type {unknown} */ name) => {
  said[who]?.add(`${type} ${name}`)
  if (isOver()) end()
}
const watchers = [
  fs.watch(mount, note('node')),
  bridge.watch(mount, note('flat')),
  bridge.watch(join(mount, 'f'), note('file')),
  bridge.watch(mount, { recursive: true }, note('tree')),
]
// A first poll takes all it finds for the old state: the changes are repeated until they are told.
let count = 0
const writing = setInterval(() => {
  fs.writeFileSync(join(behind, 'f'), `${count++}`)
  for (const name of ['new', 'd/deep']) {
    if (count % 2 === 0) fs.rmSync(join(behind, name), { force: true })
    else fs.writeFileSync(join(behind, name), '')
  }
}, 400)
await over
clearInterval(writing)
for (const watcher of watchers) watcher.close()
console.log(
  JSON.stringify(Object.fromEntries(Object.entries(said).map(([who, events]) => [who, [...events]]))),
)
