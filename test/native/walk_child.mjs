// Runs the walker in circumstances that need a process of their own. Uses dist. Prints JSON, with `unable` if
// the scenario cannot be tried.
//
//   node walk_child.mjs SCENARIO DIRECTORY
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { LOOK, openQueue, packRequests, RECURSIVE, STAT, WATCH, walk } from './walking.mjs'

const IN_CREATE = 0x100
const [, , scenario = '', base = ''] = process.argv
const addonUrl = new URL('../../out/addon.js', import.meta.url).href
/** @type {import('../../src/addon.ts').Addon} */
const addon = (await import(addonUrl)).loadAddon()

const threads = () => fs.readdirSync('/proc/self/task').length
/**
 * Returns the descriptors that a walk could leave open: of directories below `base`, of inotify, of events.
 */
const descriptors = () =>
  fs.readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return new RegExp(`^(${base}|anon_inode)`).test(fs.readlinkSync(`/proc/self/fd/${fd}`))
    } catch (error) {
      // ENAMETOOLONG is a path longer than PATH_MAX. Other errors mean the descriptor of this very listing.
      return /** @type {NodeJS.ErrnoException} */ (error).code === 'ENAMETOOLONG'
    }
  }).length

/** @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await sleep(5)
}

/** @param {string} what @returns {never} */
function unable(what) {
  process.stdout.write(JSON.stringify({ unable: what }))
  process.exit()
}

/** @param {import('./walking.mjs').WalkRecord[]} records */
const summary = (records) =>
  Object.fromEntries(
    records.map(({ name, wd, error, files, subdirs }) => [
      String(name),
      {
        wd: Math.min(wd, 1),
        error,
        entries: [...files, ...subdirs].map((each) => `${each.name}${each.stat ? '' : ' (no stat)'}`),
      },
    ]),
  )

/** Mounts bindfs and stops it: every call to the mount waits. */
async function stoppedMount() {
  const [back, front] = [join(base, 'back'), join(base, 'front')]
  for (const path of [back, front, join(back, 'directory')]) fs.mkdirSync(path)
  const argv = ['--pdeathsig', 'KILL', 'bindfs', '-f', '--no-allow-other', back, front]
  const server = spawn('setpriv', argv, { stdio: ['ignore', 'ignore', 'inherit'] })
  await until(() => {
    if (server.exitCode !== null || server.pid === undefined) unable('bindfs failed')
    return fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${front} `)
  })
  server.kill('SIGSTOP')
  return { server, front }
}

/**
 * Starts a walk that hangs on the mount, and one in a worker.
 *
 * @param {string} front
 */
async function hang(front) {
  const walker = new addon.Walker()
  const requests = packRequests([{ flags: RECURSIVE | STAT, root: front }])
  const began = walker.walk(null, 0, requests, () => {
    throw new Error('called')
  })
  const before = threads()
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     import(workerData.addonUrl).then(({ loadAddon }) => {
       const walker = new (loadAddon().Walker)()
       parentPort.postMessage(walker.walk(null, 0, Buffer.from(workerData.requests), () => parentPort.postMessage('called')))
     })`,
    { eval: true, workerData: { addonUrl, requests } },
  )
  const inWorker = await new Promise((resolve) => worker.once('message', resolve))
  worker.on('message', () => unable('the mount answers'))
  await until(() => threads() > before)
  await sleep(100)
  const busy = walker.walk(null, 0, requests, () => {})
  walker.cancel()
  await sleep(100)
  walker.close()
  await worker.terminate()
  return { began, inWorker, busy }
}

/** @type {Record<string, () => Promise<unknown>>} */
const scenarios = {
  // An ordinary user may not read, or not search, some directories.
  async unprivileged() {
    const modes = { closed: 0, listed: 0o444, searched: 0o111, open: 0o755 }
    for (const [name, mode] of Object.entries(modes)) {
      fs.mkdirSync(join(base, name, 'below'), { recursive: true })
      fs.chmodSync(join(base, name), mode)
    }
    fs.chmodSync(base, 0o755)
    if (process.getuid?.() === 0) {
      process.setgid?.(65534)
      process.setuid?.(65534)
    }
    const queue = openQueue(addon)
    const records = await walk(
      new addon.Walker(),
      [{ flags: RECURSIVE | WATCH | STAT, root: base }],
      queue,
      IN_CREATE,
    )
    queue.close()
    return summary(records.filter(({ parent }) => parent === 0))
  },

  // 5000 levels, each with siblings that still wait while its child is walked, and few descriptors.
  async deep() {
    const LEVELS = 5000
    process.chdir(base)
    for (let i = 0; i < LEVELS; i++) {
      for (const name of ['a', 'd', 'z']) fs.mkdirSync(name)
      process.chdir('d')
    }
    process.chdir('/')
    const [before, threadsBefore] = [descriptors(), threads()]
    const queue = openQueue(addon)
    const started = performance.now()
    const records = await walk(
      new addon.Walker(),
      [{ flags: RECURSIVE | WATCH | STAT, root: base }],
      queue,
      IN_CREATE,
    )
    const ms = Math.round(performance.now() - started)
    queue.close()
    await until(() => threads() <= threadsBefore && descriptors() <= before)
    // node's own rm recurses for each level.
    spawnSync('rm', ['-rf', ...fs.readdirSync(base).map((name) => join(base, name))])
    return {
      ms,
      limit: Number(/^Max open files +(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'utf8'))?.[1]),
      directories: records.length,
      watched: new Set(records.map(({ wd }) => wd)).size,
      failed: records.filter(({ wd, error }) => wd <= 0 || error !== 0).length,
    }
  },

  // With the namespace's own limit two thirds of the directories get no watch, and are listed all the same.
  async exhausted() {
    fs.writeFileSync('/proc/sys/user/max_inotify_watches', '10')
    for (let i = 0; i < 29; i++) fs.mkdirSync(join(base, `d${i}`))
    const queue = openQueue(addon)
    const records = await walk(
      new addon.Walker(),
      [{ flags: RECURSIVE | WATCH, root: base }],
      queue,
      IN_CREATE,
    )
    queue.close()
    const wds = records.map(({ wd }) => wd)
    return {
      watched: wds.filter((wd) => wd > 0).length,
      refused: wds.filter((wd) => wd < 0).map((wd) => -wd),
      failed: records.filter(({ error }) => error !== 0).length,
    }
  },

  // A dead mount holds only the thread that asked it.
  async stopped() {
    const { server, front } = await stoppedMount()
    const before = threads()
    const hung = await hang(front)
    const others = await walk(new addon.Walker(), [{ flags: 0, root: join(base, 'back') }])
    server.kill('SIGCONT')
    await until(() => threads() <= before)
    server.kill('SIGKILL')
    return { ...hung, others: others.length }
  },

  // A dead mount does not hold the end of the process either.
  async stoppedForGood() {
    const { front } = await stoppedMount()
    return hang(front)
  },

  // The kernel caches a name that the server has changed.
  async remembered() {
    const [back, front] = [join(base, 'back'), join(base, 'front')]
    for (const path of [back, front, join(back, 'directory')]) fs.mkdirSync(path)
    fs.writeFileSync(join(back, 'directory/file'), 'one')
    const program = join(import.meta.dirname, '../mirror/fuse_server.mjs')
    const argv = ['--pdeathsig', 'KILL', process.execPath, program, back, front, '3600']
    const server = spawn('setpriv', argv, { stdio: ['ignore', 'ignore', 'inherit'] })
    await until(() => {
      if (server.exitCode !== null || server.pid === undefined) unable('fuse_server.mjs failed')
      return fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${front} `)
    })
    const walker = new addon.Walker()
    const look = async () => {
      const [record] = await walk(walker, [
        { flags: STAT | LOOK, root: front, rel: 'directory', names: ['file'] },
      ])
      return record?.files[0]?.stat?.size
    }
    const list = async () => {
      const records = await walk(walker, [{ flags: STAT | RECURSIVE, root: front }])
      return records.flatMap(({ files }) => files.map(({ stat }) => stat?.size))
    }
    const sizes = [await look(), ...(await list())]
    fs.writeFileSync(join(base, 'new'), 'three')
    fs.renameSync(join(base, 'new'), join(back, 'directory/file'))
    sizes.push(fs.statSync(join(front, 'directory/file')).size, await look())
    fs.writeFileSync(join(base, 'new'), 'nineteen')
    fs.renameSync(join(base, 'new'), join(back, 'directory/file'))
    sizes.push(...(await list()))
    // The directory itself changes.
    fs.mkdirSync(join(base, 'another'))
    fs.writeFileSync(join(base, 'another/file'), 'of another')
    fs.renameSync(join(back, 'directory'), join(base, 'old'))
    fs.renameSync(join(base, 'another'), join(back, 'directory'))
    sizes.push(await look(), ...(await list()))
    server.kill('SIGKILL')
    return sizes
  },

  // The mount table tells each change, and nothing else ever wakes the loop.
  async mounts() {
    const table = new addon.MountTable()
    let calls = 0
    const opened = table.open(() => calls++)
    const switches = () => {
      const status = fs.readFileSync('/proc/self/status', 'utf8')
      return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1])
    }
    const idle = async () => {
      const [before, cpu] = [switches(), process.cpuUsage()]
      await sleep(1000)
      const { user, system } = process.cpuUsage(cpu)
      return { wakeups: switches() - before, cpuMs: (user + system) / 1000 }
    }
    const quiet = [await idle()]
    const told = []
    for (const argv of [
      ['mount', '-t', 'tmpfs', 'none', base],
      ['mount', '-o', 'remount,ro', base],
      ['umount', base],
    ]) {
      const before = calls
      const child = spawn(argv[0] ?? '', argv.slice(1))
      await Promise.all([new Promise((resolve) => child.once('exit', resolve)), until(() => calls > before)])
      await sleep(50)
      told.push(calls - before)
    }
    quiet.push(await idle())
    const again = table.open(() => {})
    table.close()
    table.close()
    const reopened = table.open(() => {})
    table.close()
    return { opened, again, reopened, quiet, told }
  },
}

const result = await scenarios[scenario]?.()
fs.writeSync(1, JSON.stringify(result))
process.exit()
