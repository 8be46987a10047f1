// Runs in a mount namespace: roots are mounted over and unmounted, as directories that are mount points, lie in a mount, or are below none; and why each was lost is
// printed as JSON.
//
//   unshare -rm node lost_mounts.mjs inotify|poll DIRECTORY
import fs from 'node:fs'
import { join } from 'node:path'
import { run } from './mounting.mjs'

const [, , backend = '', base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const at = (/** @type {string} */ name) => join(base, name)

const mount = (/** @type {string} */ name) => run('mount', '-t', 'tmpfs', 'none', at(name))

for (const name of ['point', 'plain', 'outer']) fs.mkdirSync(at(name))
for (const name of ['point', 'outer']) mount(name)
fs.mkdirSync(at('outer/in'))
fs.writeFileSync(at('outer/file'), '')
const roots = ['point', 'plain', 'outer/in', 'outer/file'].map(at)
const watcher = watch(roots, { backend: /** @type {'inotify' | 'poll'} */ (backend), interval: 1_000_000 })
/** @type {string[]} */
let told = []
watcher.on('changes', (changes) => {
  for (const change of changes) {
    const path = change.path.slice(base.length)
    if (change.type === 'lost') told.push(`lost ${change.kind} ${path} ${change.reason}`)
    else if (change.type === 'restored') told.push(`restored ${change.kind} ${path}`)
  }
})
await watcher.ready
/** @type {string[][]} */
const steps = []
for (const step of [
  () => run('umount', at('point')),
  () => mount('plain'),
  () => run('umount', '-l', at('outer')),
]) {
  told = []
  step()
  await watcher.sync()
  await watcher.sync()
  steps.push(told.toSorted())
}
await watcher.close()
process.stdout.write(JSON.stringify(steps))
