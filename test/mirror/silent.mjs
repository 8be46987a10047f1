// Runs in a user and mount namespace, on a tmpfs of its own: makes a silent mount, changes what lies behind it, and prints as
// JSON what became of that on the mount and on the mirror's target.
//
//   unshare -rm node silent.mjs SCENARIO DIRECTORY [ARGUMENT]
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { serve } from './fuse_mount.mjs'
import { CHANGES, listenTo } from './listening.mjs'

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const library = await import(join(import.meta.dirname, '../../dist/index.js'))
const { diagnose, IN_MOVED_TO, mirror, watch } = library

const INTERVAL = 100
const [, , scenario = '', base = '', argument = ''] = process.argv
const [back, front] = [join(base, 'back'), join(base, 'front')]
const [target, marks] = [join(base, 'target'), join(base, 'marks')]

if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
for (const path of [back, front, marks]) fs.mkdirSync(path)

/** bindfs, or with `seconds` the server that lets the kernel remember for as long. */
async function serveFuse() {
  const own = [process.execPath, join(import.meta.dirname, 'fuse_server.mjs'), back, front, argument]
  try {
    return await serve(argument === 'bindfs' ? ['bindfs', '-f', '--no-allow-other', back, front] : own, front)
  } catch (error) {
    process.stdout.write(JSON.stringify({ unable: String(error) }))
    process.exit()
  }
}

function mountOverlay() {
  for (const name of ['upper', 'work']) fs.mkdirSync(join(base, name))
  const layers = `lowerdir=${back},upperdir=${join(base, 'upper')},workdir=${join(base, 'work')},userxattr`
  const { status, stderr } = spawnSync('mount', ['-t', 'overlay', '-o', layers, 'overlay', front])
  if (status === 0) return
  process.stdout.write(JSON.stringify({ unable: `overlay: ${String(stderr).trim()}` }))
  process.exit()
}

/** Returns the diagnosis of the mount, and the coverage of a watcher there. */
async function recognise() {
  const { mount, local, remote, backend } = await diagnose(front)
  const watcher = watch(front)
  await watcher.ready
  const coverage = watcher.coverage().map((each) => each.backend)
  await watcher.close()
  return { type: mount.type, local, remote, backend, coverage }
}

/** @param {string} path @param {number} mask */
const listen = (path, mask) => listenTo(library, path, marks, mask)

const whole = (/** @type {number} */ n) => String.fromCharCode(65 + (n % 26)).repeat(65_536)
const read = (/** @type {string} */ name) => fs.readFileSync(join(target, name), 'utf8')
const options = { interval: INTERVAL, quiet: 5 }

/** @type {Record<string, () => Promise<unknown>>} */
const scenarios = {
  // The kubelet's swap, behind a FUSE mount.
  async swaps() {
    await atomicWrite(back, { key: whole(0) })
    const server = await serveFuse()
    const recognised = await recognise()
    const onMount = listen(front, CHANGES)
    // Asking without a look-up, and before anybody makes one: whether the kernel answers from what it remembers.
    const before = fs.readlinkSync(join(front, '..data'))
    await atomicWrite(back, { key: whole(0), other: '' })
    const isStale = fs.readlinkSync(join(front, '..data')) === before
    const started = await mirror(front, target, options)
    const onTarget = listen(target, IN_MOVED_TO)
    const reader = spawn(process.execPath, [join(import.meta.dirname, 'reader.mjs'), join(target, 'key')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(reader.stdout, 'data')
    /** @type {number[]} */
    const latencies = []
    /** @type {boolean[]} */
    const right = []
    for (let n = 1; n <= 5; n++) {
      const swapped = onTarget.next('..data')
      onTarget.onEvent(({ name }) => {
        if (name === '..data') right.push(read('key') === whole(n))
      })
      const began = performance.now()
      await atomicWrite(back, { key: whole(n) })
      await swapped
      latencies.push(Math.round(performance.now() - began))
    }
    reader.stdin.end()
    const report = JSON.parse(await text(reader.stdout))
    const seen = { onMount: await onMount.end(), onTarget: await onTarget.end() }
    const lost = await lose(server, started)
    await started.close()
    return { recognised, ...seen, latencies, right, isStale, reader: report, lost }
  },

  // Flat files behind a FUSE mount: in place with the times put back, new, renamed over, removed.
  async flat() {
    for (const name of ['in-place', 'over', 'goes']) fs.writeFileSync(join(back, name), 'one')
    fs.utimesSync(join(back, 'in-place'), 1000, 1000)
    const server = await serveFuse()
    const onMount = listen(front, CHANGES)
    const started = await mirror(front, target, options)
    const onTarget = listen(target, CHANGES)
    const arrived = Promise.all(['in-place', 'over', 'new', 'goes'].map((name) => onTarget.next(name)))
    fs.writeFileSync(join(back, 'in-place'), 'two')
    fs.utimesSync(join(back, 'in-place'), 1000, 1000)
    fs.writeFileSync(join(base, 'staged'), 'two')
    fs.renameSync(join(base, 'staged'), join(back, 'over'))
    fs.writeFileSync(join(back, 'new'), 'two')
    fs.unlinkSync(join(back, 'goes'))
    await arrived
    const content = ['in-place', 'over', 'new'].map(read)
    const seen = { onMount: await onMount.end(), onTarget: await onTarget.end() }
    await started.close()
    server.kill('SIGKILL')
    await once(server, 'exit')
    return { ...seen, content }
  },

  // The source is a directory on the mount, and another takes its name.
  async anew() {
    for (const name of ['dir', 'next']) fs.mkdirSync(join(back, name))
    fs.writeFileSync(join(back, 'dir/key'), 'one')
    fs.writeFileSync(join(back, 'next/key'), 'two')
    const server = await serveFuse()
    const onMount = listen(front, CHANGES)
    const started = await mirror(join(front, 'dir'), target, options)
    const onTarget = listen(target, CHANGES)
    const arrived = onTarget.next('key')
    fs.renameSync(join(back, 'dir'), join(back, 'old'))
    fs.renameSync(join(back, 'next'), join(back, 'dir'))
    await arrived
    const content = [read('key')]
    const seen = { onMount: await onMount.end(), onTarget: await onTarget.end() }
    await started.close()
    server.kill('SIGKILL')
    await once(server, 'exit')
    return { ...seen, content }
  },

  // A flat source that is the lower directory of an overlay.
  async overlay() {
    for (const name of ['in-place', 'over']) fs.writeFileSync(join(back, name), 'one')
    mountOverlay()
    const recognised = await recognise()
    const onMount = listen(front, CHANGES)
    const started = await mirror(front, target, options)
    const onTarget = listen(target, CHANGES)
    const arrived = Promise.all(['in-place', 'new'].map((name) => onTarget.next(name)))
    fs.writeFileSync(join(back, 'in-place'), 'two')
    fs.writeFileSync(join(back, 'new'), 'two')
    await arrived
    fs.writeFileSync(join(back, 'staged'), 'two')
    fs.renameSync(join(back, 'staged'), join(back, 'over'))
    const swapped = onTarget.next('..data')
    await started.refresh()
    const { skipped } = started
    const content = ['in-place', 'new', 'over'].map(read)
    // The first write of an AtomicWriter: a name that nobody has asked for yet is not remembered as missing.
    await atomicWrite(back, { key: 'two' })
    await swapped
    await started.refresh()
    content.push(read('key'))
    const seen = { onMount: await onMount.end(), onTarget: await onTarget.end() }
    await started.close()
    return { recognised, ...seen, content, skipped }
  },

  // The kubelet's swap in the lower directory of an overlay.
  async overlaySwap() {
    await atomicWrite(back, { a: 'one', b: 'one' })
    mountOverlay()
    const started = await mirror(front, target, options)
    const onTarget = listen(target, CHANGES)
    await atomicWrite(back, { a: 'two', b: 'two' })
    await started.refresh()
    await started.refresh()
    const { skipped } = started
    const content = ['a', 'b'].map(read)
    const seen = await onTarget.end()
    await started.close()
    return { onTarget: seen, content, skipped }
  },
}

/**
 * Kills the server, which leaves a mount that answers ENOTCONN, and serves anew.
 *
 * @param {import('node:child_process').ChildProcess} server
 * @param {import('../../src/index.ts').Mirror} started
 */
async function lose(server, started) {
  const lost = once(started, 'state')
  server.kill('SIGKILL')
  const [state, reason] = await lost
  const kept = read('key') === whole(5)
  spawnSync('umount', [front])
  await started.refresh()
  const unmounted = { state: started.state, kept: read('key') === whole(5) }
  const again = await serveFuse()
  await atomicWrite(back, { key: whole(6) })
  await started.refresh()
  const resumed = started.state === 'mirroring' && read('key') === whole(6)
  again.kill('SIGKILL')
  await once(again, 'exit')
  return { state, reason, kept, unmounted, resumed }
}

const result = await scenarios[scenario]?.()
process.stdout.write(JSON.stringify(result))
