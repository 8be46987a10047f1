// Runs in a mount namespace of its own. Mounts a filesystem within the turn in which inotify-bridge/fs began
// to watch a tree. Prints the events as JSON.
//
//   unshare -rm node mounted_over.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/entries/fs.ts')} */
const bridge = await import(join(import.meta.dirname, '../../dist/fs.js'))
const inner = join(base, 'a/b')
mkdirSync(inner, { recursive: true })
writeFileSync(join(inner, 'covered'), '')
/** @type {Set<string>} */
const said = new Set()
/** @type {() => void} */
let tell = () => {}
const watcher = bridge.watch(base, { recursive: true }, (type, name) => {
  said.add(`${type} ${name}`)
  tell()
})
const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', 'none', inner], { encoding: 'utf8' })
if (status !== 0) throw new Error(stderr)
/** @type {(event: string) => Promise<void>} */
const until = (event) =>
  new Promise((resolve) => {
    tell = () => said.has(event) && resolve()
    tell()
  })
await until('rename a/b')
writeFileSync(join(inner, 'file'), '')
await until('rename a/b/file')
watcher.close()
console.log(JSON.stringify([...said]))
