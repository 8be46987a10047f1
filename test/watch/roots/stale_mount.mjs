// Runs in a mount namespace, on a tmpfs of its own. Watches a ConfigMap's key that is mounted as a subPath,
// by its path, while the kubelet updates the ConfigMap. Prints the changes as JSON.
//
//   unshare -rm node stale_mount.mjs inotify|poll DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../../examples/kubelet.mjs'

const [, , backend = '', base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const at = (/** @type {string} */ name) => join(base, name)

/** @param {string[]} args */
function mount(...args) {
  if (spawnSync('mount', args).status !== 0) throw new Error(`mount ${args.join(' ')} failed`)
}

mount('-t', 'tmpfs', 'none', base)
for (const name of ['volume', 'etc']) fs.mkdirSync(at(name))
await atomicWrite(at('volume'), { key: 'one' })
for (const name of ['key', 'again']) {
  fs.writeFileSync(at(`etc/${name}`), '')
  mount('--bind', at('volume/key'), at(`etc/${name}`))
}
const options = { backend: /** @type {'inotify' | 'poll'} */ (backend), interval: 20 }
const watcher = watch(at('etc/key'), options)
/** @type {string[]} */
const told = []
watcher.on('changes', (changes) =>
  told.push(
    ...changes.map((change) => {
      const { type, path } = change
      return `${type} ${path.slice(base.length)}${type === 'lost' ? ` ${change.reason}` : ''}`
    }),
  ),
)
await watcher.ready
fs.appendFileSync(at('volume/key'), ' more')
await watcher.sync()
await atomicWrite(at('volume'), { key: 'two' })
while (!told.some((line) => line.startsWith('lost'))) await sleep(5)
await watcher.sync()
const coverage = watcher
  .coverage()
  .map(({ why, uncovered }) => ({ why, uncovered: uncovered.map(({ error }) => error.message) }))
await watcher.close()

const late = watch(at('etc/again'), options)
await late.ready
const atFirst = late.coverage().map(({ why }) => why)
await late.close()
process.stdout.write(JSON.stringify({ told, coverage, atFirst }))
