// Runs in a user and mount namespace, on a tmpfs of its own: watches what a FUSE server shows whose inode numbers become others while nothing changes, in all the ways there are, and
// prints as JSON what each was told in each step.
//
//   unshare -rm node passing_numbers.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../mirror/fuse_mount.mjs'

const [, , base = ''] = process.argv
const dist = (/** @type {string} */ name) => import(join(import.meta.dirname, `../../../dist/${name}.js`))
/** No literal paths, because dist is missing before the build. @type {[typeof import('../../../src/index.ts'), any, any, any]} */
const [{ watch }, { default: chokidar }, parcel, { watch: fsWatch }] = [
  await dist('index'),
  await dist('chokidar'),
  await dist('parcel'),
  await dist('fs'),
]
const INTERVAL = 50
/** The numbers of the steps in which this waits for the changes of the drop-in replacements. */
const QUIET = [2, 3, 4]

if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
const [back, front, numbers] = [join(base, 'back'), join(base, 'front'), join(base, 'numbers')]
const behind = (/** @type {string} */ path) => join(back, path)
for (const path of ['sub/a/b/c', 'sub/empty', 'sub/x', 'other'])
  fs.mkdirSync(behind(path), { recursive: true })
for (const path of ['sub/f', 'sub/a/f', 'sub/a/b/f', 'sub/a/b/c/f', 'sub/x/ f\n', 'other/f', 'sub/-name'])
  fs.writeFileSync(behind(path), path)
fs.symlinkSync('../other', behind('sub/link'))
fs.symlinkSync('a/f', behind('sub/to-file'))
fs.mkdirSync(front)
const program = join(import.meta.dirname, '../../mirror/fuse_server.mjs')
try {
  await serve([process.execPath, program, back, front, '3600', '', '', '', '1', '', numbers], front)
} catch (error) {
  process.stdout.write(JSON.stringify({ unable: String(error) }))
  process.exit()
}
const root = join(front, 'sub')
/**
 * The changes of this step, by the name of the watcher.
 *
 * @type {Map<string, string[]>}
 */
const told = new Map()
/** @type {Array<() => Promise<unknown>>} */
const settled = []
const note = (/** @type {string} */ who, /** @type {string} */ what, /** @type {string} */ path) =>
  told.get(who)?.push(`${what} ${path.replace(root, '.')}`)

/** @param {string} name @param {string | string[]} path @param {import('../../../src/index.ts').WatchOptions} [options] */
async function begin(name, path, options) {
  told.set(name, [])
  const watcher = watch(path, { recursive: true, interval: INTERVAL, ...options })
  watcher.on('changes', (changes) => {
    for (const change of changes) note(name, change.type, change.path)
  })
  watcher.on('error', (error) => note(name, 'error', String(error)))
  await watcher.ready
  settled.push(() => watcher.sync())
  return watcher
}

/** Returns what is told where numbers become others between the listings of a directory and of one in it. */
async function amidPoll() {
  const watcher = await begin('amid', root, { ignore: () => false, backend: 'poll' })
  // A poll that has begun since: the entries are older than the server, but could count as new to the first look.
  await settled.at(-1)?.()
  fs.writeFileSync(`${numbers}.new`, '1000')
  fs.renameSync(`${numbers}.new`, `${numbers}.a`)
  await settled.pop()?.()
  await watcher.close()
  if (fs.existsSync(`${numbers}.a`)) throw new Error('nobody has asked for the attributes of a')
  return told.get('amid')
}
const amid = await amidPoll()
told.clear()

/** @type {Array<[string, string | string[], import('../../../src/index.ts').WatchOptions]>} */
const WAYS = [
  ['auto', root, {}],
  ['poll', root, { backend: 'poll' }],
  ['hash', root, { hash: true }],
  ['initial', root, { initial: true }],
  ['links', root, { followSymlinks: true, backend: 'poll' }],
  ['links auto', root, { followSymlinks: true }],
  ['ignoring', root, { ignore: (path) => path.endsWith('nothing'), backend: 'poll' }],
  ['flat', root, { recursive: false, backend: 'poll' }],
  ['top', front, { backend: 'poll' }],
  ['file', join(root, 'a/f'), { backend: 'poll' }],
  ['two', [join(root, 'a'), root], { backend: 'poll' }],
]
for (const [name, path, options] of WAYS) await begin(name, path, options)
for (const name of ['chokidar', 'parcel', 'fs']) told.set(name, [])
const other = chokidar.watch(root, { ignoreInitial: true, interval: INTERVAL })
other.on('all', (/** @type {string} */ type, /** @type {string} */ path) => note('chokidar', type, path))
await new Promise((resolve) => other.once('ready', resolve))
await parcel.subscribe(
  root,
  (/** @type {unknown} */ _, /** @type {Array<{ type: string, path: string }>} */ events) => {
    for (const { type, path } of events) note('parcel', type, path)
  },
)
fsWatch(root, { recursive: true }, (/** @type {string} */ type, /** @type {string} */ name) =>
  note('fs', type, name),
)
// Waits until the entries are older than the first look: until then they may count as new.
await sleep(8 * INTERVAL)

let epoch = 0
/** @param {() => void} change */
async function step(change, isRenumbered = true) {
  for (const changes of told.values()) changes.splice(0)
  fs.writeFileSync(`${numbers}.new`, `${++epoch * 1_000_000}`)
  change()
  if (isRenumbered) fs.renameSync(`${numbers}.new`, numbers)
  for (let i = 0; i < 2; i++) await Promise.all(settled.map((sync) => sync()))
  // The drop-ins have their own pace.
  if (QUIET.includes(epoch)) await sleep(1200)
  return Object.fromEntries([...told].map(([who, changes]) => [who, [...changes].sort()]))
}

const steps = {
  // While inode numbers last, they show moves behind the server.
  moved: await step(() => fs.renameSync(behind('sub/x'), behind('sub/y')), false),
  movedBack: await step(() => fs.renameSync(behind('sub/y'), behind('sub/x')), false),
  nothing: await step(() => {}),
  again: { ...(await step(() => {})), amid },
  written: await step(() => fs.appendFileSync(behind('sub/a/b/f'), '!')),
  made: await step(() => fs.writeFileSync(behind('sub/a/b/c/new'), '')),
  removed: await step(() => fs.rmSync(behind('sub/a/b/c/new'))),
  mode: await step(() => fs.chmodSync(behind('sub/x'), 0o700)),
}
const snapshot = join(base, 'snapshot')
const saved = await begin('saved', root, { backend: 'poll' })
await sleep(3 * INTERVAL)
await saved.save(snapshot)
await saved.close()
settled.pop()
const since = await step(() => {})
await begin('since', root, { since: snapshot, backend: 'poll' })
process.stdout.write(JSON.stringify({ ...steps, since: { ...since, saved: [], since: told.get('since') } }))
process.exit()
