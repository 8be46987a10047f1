// Runs in a mount namespace, on a tmpfs of its own. Writes, watches and saves files on a file system that
// keeps whole seconds, and writes as many other bytes in the same second. Prints as JSON the modified files
// that `since` finds, for each way of watching.
//
//   unshare -m node coarse_times.mjs ext4|FUSE DIRECTORY      ext4 by a loop mount, as root; FUSE with unshare -rm as well
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../mirror/fuse_mount.mjs'

/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/entries/watch.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/watch.js'))

const [, , kind = '', base = ''] = process.argv
/** @param {string[]} argv */
function run(...argv) {
  const { status, stderr, error } = spawnSync(argv[0] ?? '', argv.slice(1), { encoding: 'utf8' })
  if (status === 0) return
  process.stdout.write(JSON.stringify({ unable: `${argv.join(' ')}: ${error ?? stderr}` }))
  process.exit()
}

run('mount', '-t', 'tmpfs', 'none', base)
const [image, front] = [join(base, 'image'), join(base, 'front')]
const back = kind === 'ext4' ? front : join(base, 'back')
for (const path of new Set([front, back])) fs.mkdirSync(path)
if (kind === 'ext4') {
  fs.writeFileSync(image, '')
  fs.truncateSync(image, 16 << 20)
  run('mkfs.ext4', '-q', '-F', '-I', '128', image)
  run('mount', '-o', 'loop', image, front)
} else {
  const server = join(import.meta.dirname, '../../mirror/fuse_server.mjs')
  await serve([process.execPath, server, back, front, '3600', '', '', '', '1000000000'], front)
}

const names = ['file', 'deep/file', 'single']
fs.mkdirSync(join(back, 'deep'))
const write = (/** @type {string} */ text) => {
  for (const name of names) fs.writeFileSync(join(back, name), text)
  return Math.floor(Date.now() / 1000)
}

/** The ways of watching. @type {Record<string, [string, import('../../../src/watch/options.ts').WatchOptions]>} */
const ways = {
  'a directory, by events': ['.', { recursive: true, backend: 'inotify' }],
  'a directory, by polling': ['.', { recursive: true, backend: 'poll' }],
  'a file, by events': ['single', { backend: 'inotify' }],
  'a file, by polling': ['single', { backend: 'poll' }],
}
const mine = Object.entries(ways).filter(([, [, { backend }]]) => kind === 'ext4' || backend === 'poll')
const saved = (/** @type {string} */ way) => join(base, way)

write('zero')
// The files are so old that none is in doubt, and a second has just begun.
await sleep(3000 - (Date.now() % 1000) + 50)
const first = write('one')
for (const [way, [path, options]] of mine) {
  const watcher = watch(join(front, path), options)
  await watcher.ready
  // Files younger than the kernel's clock can tell would be in doubt in any case.
  await sleep(60)
  await watcher.sync()
  await watcher.save(saved(way))
  await watcher.close()
}
const isOneTick = write('two') === first
/** @type {Record<string, string[]>} */
const told = {}
for (const [way, [path, options]] of mine) {
  const watcher = watch(join(front, path), { ...options, since: saved(way) })
  watcher.on('changes', (changes) => {
    told[way] = changes.map((change) => `${change.type} ${change.path.slice(front.length + 1)}`).sort()
  })
  await watcher.ready
  await watcher.close()
}
if (kind !== 'ext4') spawnSync('umount', ['-l', front])
process.stdout.write(JSON.stringify({ isOneTick, told }))
process.exit()
