// Runs in a mount namespace. Watches a FUSE mount whose server cannot read its directories at first. Prints
// as JSON the changes before and after the moment from which the server can.
//
//   unshare -rm node failing_server.mjs DIRECTORY BACKEND ERRNO
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { watch } from '../../../dist/index.js'
import { serveFuse } from '../../mirror/fuse_mount.mjs'

const [, , base = '', backend, errno] = process.argv
const at = (/** @type {string} */ name) => join(base, name)
const names = Array.from({ length: 20 }, (_, i) => `d${i}`)

spawnSync('mount', ['-t', 'tmpfs', 'none', base])
for (const name of ['front', ...names.map((name) => `back/${name}`)])
  fs.mkdirSync(at(name), { recursive: true })
for (const name of names) fs.writeFileSync(at(`back/${name}/file`), '')
const server = await serveFuse(at('back'), at('front'), at('control'))
fs.writeFileSync(at('control'), JSON.stringify(names.map((name) => ({ name, operation: 'any', errno }))))

const options = { recursive: true, initial: true, ...(backend === 'auto' ? {} : { backend }) }
const watcher = watch(at('front'), /** @type {import('../../../dist/index.js').WatchOptions} */ (options))
const told = new Set()
watcher.on('error', () => {})
watcher.on('changes', (changes) => {
  for (const { path } of changes) told.add(path)
})
const uncovered = () => watcher.coverage().reduce((sum, row) => sum + row.uncovered.length, 0)
await watcher.ready
const broken = { told: told.size, uncovered: uncovered() }
fs.writeFileSync(at('control'), '[]')
while (told.size < 2 * names.length || uncovered() > 0) await sleep(20)
await watcher.close()
server.kill('SIGKILL')
process.stdout.write(JSON.stringify({ broken, told: told.size }))
