// Runs in a mount namespace, on a tmpfs of its own. Watches a single file that is mounted (a subPath, docker
// -v file:file), and its directory, as roots. Prints as JSON the changes of a write.
//
//   unshare -rm node mounted_file.mjs inotify|poll DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'

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
for (const name of ['volume/key', 'etc/key', 'etc/own']) fs.writeFileSync(at(name), '')
mount('--bind', at('volume/key'), at('etc/key'))
const roots = ['etc', 'etc/key', 'etc/own'].map(at)
const watcher = watch(roots, { backend: /** @type {'inotify' | 'poll'} */ (backend), interval: 1_000_000 })
/** @type {string[]} */
const told = []
watcher.on('changes', (changes) =>
  told.push(...changes.map(({ type, path }) => `${type} ${path.slice(base.length)}`)),
)
await watcher.ready
for (const name of ['volume/key', 'etc/own']) {
  fs.appendFileSync(at(name), 'more')
  await watcher.sync()
}
await watcher.close()
process.stdout.write(JSON.stringify(told))
