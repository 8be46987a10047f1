// Makes an overlay in the guest whose lower directory is on the share. Reports the changes of the host that
// the overlay shows, and the reports about the rest.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, library, memory, parameters, report, share } from './host.mjs'

const { interval } = parameters

for (const key of ['in-place', 'over']) await ask('create', { path: key, text: 'one' })
const base = memory('overlay')
for (const directory of ['upper', 'work', 'merged']) mkdirSync(join(base, directory))
const merged = join(base, 'merged')
const layers = `lowerdir=${share},upperdir=${join(base, 'upper')},workdir=${join(base, 'work')}`
const mounted = spawnSync('mount', ['-t', 'overlay', '-o', layers, 'overlay', merged])
if (mounted.status !== 0) throw new Error(`mount: ${mounted.stderr}`)

const { mount, remote, backend } = await library.diagnose(merged)
const target = memory('target')
const mirrored = await library.mirror(merged, target, { interval })
/** @param {string} key */
const read = (key) => (existsSync(join(target, key)) ? readFileSync(join(target, key), 'utf8') : 'absent')
/** Looks until something is so, or for 3 s: longer than a name is remembered, unless that is for ever. @param {() => boolean} condition */
async function until(condition) {
  const began = performance.now()
  while (!condition() && performance.now() - began < 3000) await mirrored.refresh()
}
await ask('in-place', { path: 'in-place', text: 'two' })
await ask('create', { path: 'new', text: 'two' })
await until(() => read('in-place') === 'two' && read('new') === 'two')
await ask('rename-over', { path: 'over', text: 'two' })
await until(() => read('over') === 'two' || mirrored.skipped.length > 0)
const content = ['in-place', 'new', 'over'].map(read)
const skipped = mirrored.skipped
await mirrored.close()
report({ type: mount.type, remote, backend, content, skipped })
