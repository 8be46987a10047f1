// Runs in a mount namespace, on a tmpfs of its own: mirrors sources of several layouts from a file system whose times do not tell all, changes each twice
// in a tick of its clock, and prints as JSON how long the second change took to be in the target.
//
//   unshare -m node times.mjs KIND DIRECTORY      ext4 and vfat by loop mounts, as root; the FUSE servers with unshare -rm as well
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { writeFat } from '../guest/scenarios/fat_image.mjs'
import { serve } from './fuse_mount.mjs'

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { mirror } = await import(join(import.meta.dirname, '../../dist/index.js'))

const INTERVAL = 100
/** Longer than all is looked at again, whatever the times say. */
const PATIENCE = 12_000
const [, , kind = '', base = ''] = process.argv
const [back, front] = [join(base, 'back'), join(base, 'front')]

/** @param {string[]} argv */
function run(...argv) {
  const { status, stderr, error } = spawnSync(argv[0] ?? '', argv.slice(1), { encoding: 'utf8' })
  if (status === 0) return
  process.stdout.write(JSON.stringify({ unable: `${argv.join(' ')}: ${error ?? stderr}` }))
  process.exit()
}

run('mount', '-t', 'tmpfs', 'none', base)
for (const path of [back, front, join(base, 'other'), join(base, 'target')]) fs.mkdirSync(path)
const fuse = [process.execPath, join(import.meta.dirname, 'fuse_server.mjs'), back, front, '3600', '', '', '']

/** How each is mounted; where what changes is, behind it or through it; and by which tick (ms) its clock goes. @type {Record<string, () => unknown>} */
const mounts = {
  ext4() {
    fs.writeFileSync(join(base, 'image'), '')
    fs.truncateSync(join(base, 'image'), 16 << 20)
    run('mkfs.ext4', '-q', '-F', '-I', '128', join(base, 'image'))
    run('mount', '-o', 'loop', join(base, 'image'), front)
  },
  vfat() {
    writeFat(join(base, 'image'))
    run('mount', '-t', 'vfat', '-o', 'loop', join(base, 'image'), front)
  },
  seconds: () => serve([...fuse, '1000000000'], front),
  twoSeconds: () => serve([...fuse, '2000000000'], front),
  untimed: () => serve([...fuse, '1', 'untimed'], front),
  mergerfs: () => run('mergerfs', '-o', 'cache.files=off,use_ino', `${back}:${join(base, 'other')}`, front),
  rclone() {
    const options = [
      '--vfs-cache-mode',
      'writes',
      '--dir-cache-time',
      '100ms',
      '--attr-timeout',
      '100ms',
      '--poll-interval',
      '0',
    ]
    const env = { ...process.env, XDG_CACHE_HOME: base, RCLONE_CONFIG: join(base, 'none') }
    // Without --daemon, which would outlive this.
    const server = spawn('rclone', ['mount', `:local:${back}`, front, ...options], { env, stdio: 'ignore' })
    process.on('exit', () => server.kill('SIGKILL'))
    return untilMounted()
  },
}

async function untilMounted() {
  while (!fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${front} `)) await sleep(5)
}

const isDisk = kind === 'ext4' || kind === 'vfat'
const tick = { ext4: 1000, vfat: 2000, seconds: 1000, twoSeconds: 2000 }[kind] ?? 10
/**
 * ms behind a tick at which a change is made, and from when that is in the target to the second.
 *
 * @type {Record<number, Array<[number, number]>>}
 */
const MOMENTS = {
  1000: [
    [30, 600],
    [450, 0],
  ],
  2000: [[300, 1200]],
  10: [[0, 0]],
}
const hasLinks = kind !== 'vfat' && kind !== 'rclone'

/**
 * A source: where it is written, and what is written there the n-th time, always of one size; what is mirrored of it, and what the target should have
 * then. `made` is written before it is mounted.
 *
 * @typedef {{ name: string, source: string, write(at: string, n: number): unknown, shown(target: string, n: number): boolean }} Layout
 */

const text = (/** @type {number} */ n) => `level: ${String(n).padStart(4, '0')}\n`
/** @param {string} path @param {number} n */
const has = (path, n) => fs.existsSync(path) && fs.readFileSync(path, 'utf8') === text(n)
/** @param {string} path @param {number} n */
function relink(path, n) {
  fs.mkdirSync(join(path, `rev-${n}`))
  fs.writeFileSync(join(path, `rev-${n}/app`), text(n))
  fs.symlinkSync(`rev-${n}`, join(path, 'next'))
  fs.renameSync(join(path, 'next'), join(path, 'current'))
  if (n === 0) fs.symlinkSync('current/app', join(path, 'app'))
}

/** @type {Layout[]} */
const all = [
  {
    name: 'a flat file',
    source: '.',
    write: (at, n) => fs.writeFileSync(join(at, 'app'), text(n)),
    shown: (target, n) => has(join(target, 'app'), n),
  },
  {
    name: 'a file below',
    source: '.',
    write(at, n) {
      fs.mkdirSync(join(at, 'sub'), { recursive: true })
      fs.writeFileSync(join(at, 'sub/app'), text(n))
    },
    shown: (target, n) => has(join(target, 'sub/app'), n),
  },
  {
    name: 'a single file',
    source: 'app',
    write: (at, n) => fs.writeFileSync(join(at, 'app'), text(n)),
    shown: (target, n) => has(target, n),
  },
  {
    name: 'a new file',
    source: '.',
    write: (at, n) => fs.writeFileSync(join(at, `new-${n}`), text(n)),
    shown: (target, n) => has(join(target, `new-${n}`), n),
  },
  {
    name: 'a new directory with a file',
    source: '.',
    write(at, n) {
      fs.mkdirSync(join(at, `new-${n}`))
      fs.writeFileSync(join(at, `new-${n}/app`), text(n))
    },
    shown: (target, n) => has(join(target, `new-${n}/app`), n),
  },
  {
    name: 'a ConfigMap',
    source: '.',
    write: (at, n) => atomicWrite(at, { app: text(n), other: 'same' }),
    shown: (target, n) => has(join(target, 'app'), n),
  },
  {
    name: "a ConfigMap's key by itself",
    source: 'app',
    write: (at, n) => atomicWrite(at, { app: text(n), other: 'same' }),
    shown: (target, n) => has(target, n),
  },
  { name: 'a link', source: '.', write: relink, shown: (target, n) => has(join(target, 'current/app'), n) },
  { name: 'a single file behind a link', source: 'app', write: relink, shown: has },
]
const layouts = all.filter(({ name }) => hasLinks || !/ConfigMap|link/.test(name))
const place = (/** @type {string} */ root, /** @type {Layout} */ { name }) =>
  join(root, name.replaceAll(' ', '-'))
/** Through the mount, as the finds have it of rclone's and mergerfs's. */
const isThrough = isDisk || kind === 'rclone' || kind === 'mergerfs'

if (isDisk) await mounts[kind]?.()
for (const each of layouts) {
  fs.mkdirSync(place(isDisk ? front : back, each))
  // mergerfs shows the times of one of the two, whichever a new name goes to.
  fs.mkdirSync(place(join(base, 'other'), each))
  await each.write(place(isDisk ? front : back, each), 0)
}
if (!isDisk) await mounts[kind]?.()
const mirrors = await Promise.all(
  layouts.map((each) =>
    mirror(join(place(front, each), each.source), place(join(base, 'target'), each), {
      interval: INTERVAL,
      quiet: 5,
    }),
  ),
)

/** @param {Layout} each @param {number} n */
async function arrival(each, n) {
  const began = performance.now()
  const at = place(join(base, 'target'), each)
  while (!each.shown(at, n) && performance.now() - began < PATIENCE) await sleep(2)
  return Math.round(performance.now() - began)
}

/** A busy machine may take longer for the first than the tick lasts. */
const MOST_ROUNDS = 6
/** @type {Array<{ layout: string, isOneTick: boolean, took: number[] }>} */
const results = []
const isDoubled = (/** @type {Layout} */ { name }) =>
  results.some(({ layout, isOneTick }) => layout === name && isOneTick)
const moments = MOMENTS[tick] ?? []
for (let index = 0; index < moments.length || !layouts.every(isDoubled); index++) {
  if (index === MOST_ROUNDS || (index >= moments.length && tick === 10)) break
  const [moment = 0, later = 0] = moments[index % moments.length] ?? []
  await sleep(tick - (Date.now() % tick) + moment)
  results.push(
    ...(await Promise.all(
      layouts.map(async (each) => {
        const at = place(isThrough ? front : back, each)
        const writtenAt = async (/** @type {number} */ n) => {
          await each.write(at, n)
          return Math.floor(Date.now() / tick)
        }
        const first = await writtenAt(2 * index + 1)
        const firstTook = await arrival(each, 2 * index + 1)
        await sleep(later)
        const second = await writtenAt(2 * index + 2)
        const took = await arrival(each, 2 * index + 2)
        return { layout: each.name, isOneTick: first === second, took: [firstTook, took] }
      }),
    )),
  )
}
for (const each of mirrors) await each.close()
if (!isDisk) spawnSync('umount', ['-l', front])
process.stdout.write(JSON.stringify({ results }))
process.exit()
