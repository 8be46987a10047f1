import { execFileSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { diagnose, formatMask, IN_ALL_EVENTS, IN_MOVED_TO, Inotify, mirror } from '../../dist/index.js'
import { serveFuse } from '../../test/mirror/fuse_mount.mjs'
import { atomicWrite } from '../kubelet.mjs'
import { MOUNTS, onStage, say, until } from '../stage.mjs'

const needs = { programs: ['setpriv'], devices: ['/dev/fuse'], namespace: MOUNTS }

await onStage(needs, async ({ directory }) => {
  const paths = ['host', 'guest', 'mirrored'].map((name) => join(directory, name))
  const [host = '', guest = '', target = ''] = paths
  for (const path of paths) await mkdir(path)
  // An emptyDir with medium: Memory.
  execFileSync('mount', ['-t', 'tmpfs', 'none', target])
  await atomicWrite(host, { 'app.yaml': 'color: red\n' })
  // For virtiofs, which is FUSE with a virtual machine between: as there, the server tells the kernel of no change.
  await serveFuse(host, guest)
  const { mount, local, remote, backend } = await diagnose(guest)
  say(`the ConfigMap's mount: ${mount.type}; changes made here ${local}, elsewhere ${remote}; use ${backend}`)

  const mirrored = await mirror(guest, target, { interval: 50 })
  const [onMount, onTarget] = [eventsOf(guest, IN_ALL_EVENTS), eventsOf(target, IN_MOVED_TO)]
  await atomicWrite(host, { 'app.yaml': 'color: blue\n' })
  await until('the swap has come to the mirror', () => onTarget.changes.includes('IN_MOVED_TO ..data'))
  // Were there events of the mount, they would have come before those of the mirror, which reads it.
  say('the host swaps ..data:')
  say(`  an inotify watcher of the mount sees: ${onMount.changes.join(', ') || 'nothing'}`)
  say(`  an inotify watcher of the mirror sees: ${onTarget.changes.join(', ')}`)
  say(`  and reads there: ${(await readFile(join(target, 'app.yaml'), 'utf8')).trim()}`)
  for (const { inotify } of [onMount, onTarget]) inotify.close()
  await mirrored.close()
})

/** What a watcher sees but for reading, of which the mirror does much. @param {string} path @param {number} mask */
function eventsOf(path, mask) {
  const inotify = new Inotify()
  inotify.add(path, mask)
  /** @type {string[]} */
  const changes = []
  inotify.on('events', (batch) => {
    for (const { mask, name } of batch) {
      const words = formatMask(mask)
      if (!/IN_(OPEN|ACCESS|CLOSE_NOWRITE)/.test(words)) changes.push(`${words} ${name}`.trim())
    }
  })
  return { inotify, changes }
}
