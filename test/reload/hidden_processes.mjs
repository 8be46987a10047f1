// Runs as a user whom /proc shows no process of others, and prints as JSON what becomes of each way to name a process: of this user's, and of another's.
//
//   node hidden_processes.mjs DIRECTORY NAME PID    of the other's process; DIRECTORY is this user's
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , directory = '', theirName = '', theirs = ''] = process.argv
/** Not literals: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { diagnose, reload, watch } = await import(join(import.meta.dirname, '../../dist/index.js'))

/** Starts a process that prints 'hup' at each SIGHUP. @param {string} name */
async function listener(name) {
  const script = `process.title = ${JSON.stringify(name)}; process.on('SIGHUP', () => console.log('hup')); console.log('ready'); setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

/** @param {string} name @param {string} text */
function pidFile(name, text) {
  const path = join(directory, name)
  writeFileSync(path, text, { mode: 0o644 })
  return path
}

/** 'reload', or why not. @param {import('../../src/index.ts').ReloadOptions['action']} action */
async function attempt(action, timeout = 60_000) {
  const path = join(directory, 'content')
  writeFileSync(path, 'one')
  try {
    const reloader = reload({ paths: [path], action, delay: 0, retry: 60_000, interval: 60_000, timeout })
    reloader.on('error', () => {})
    /** @type {Promise<string>} */
    const told = new Promise((resolve) => {
      reloader.on('reload', () => resolve('reload'))
      reloader.on('failed', ({ reason }) => resolve(reason))
    })
    await reloader.ready
    writeFileSync(path, 'two')
    await reloader.trigger()
    await reloader.close()
    return await told
  } catch (error) {
    return String(Object(error).message)
  }
}

const signal = /** @type {const} */ ('SIGHUP')
const mine = await listener('ib-mine')
const pid = Number(mine.pid)
let hups = 0
mine.stdout.on('data', (text) => {
  hups += String(text).split('hup').length - 1
})
let asked = 0
/** Attempts, and waits for the signal: the kernel keeps one of two that come before the first is taken. @param {import('../../src/index.ts').ReloadOptions['action']} action */
async function heard(action) {
  const told = await attempt(action)
  asked++
  while (told === 'reload' && hups < asked) await once(mine.stdout, 'data')
  return told
}
const own = {
  pid: await heard({ signal, pid }),
  pidFile: await heard({ signal, pidFile: pidFile('mine.pid', `${pid}\n`) }),
  process: await heard({ signal, process: 'ib-mine' }),
  command: await attempt({ command: ['true'] }),
  killed: await attempt({ command: ['sleep', '1000'] }, 50),
}
mine.kill('SIGKILL')
await once(mine, 'exit')
const gone = {
  pid: await attempt({ signal, pid }),
  pidFile: await attempt({ signal, pidFile: join(directory, 'mine.pid') }),
}
const others = {
  pid: await attempt({ signal, pid: Number(theirs) }),
  pidFile: await attempt({ signal, pidFile: pidFile('theirs.pid', theirs) }),
  process: await attempt({ signal, process: theirName }),
}

const watcher = watch(directory)
await watcher.ready
const { limits } = await diagnose(directory)
const listed = readdirSync('/proc').includes(theirs)
await watcher.close()
console.log(JSON.stringify({ own, gone, others, limits, listed }))
