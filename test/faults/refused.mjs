// node refused.mjs DIRECTORY, where a seccomp filter refuses system calls, or without /proc: each part of
// this package does its work. Prints the results as JSON, by the part's name; an error's message if the part
// has failed.
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const [, , base = ''] = process.argv
const load = (/** @type {string} */ name) => import(join(import.meta.dirname, `../../dist/${name}.js`))
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const bridge = await load('index')
/** @type {typeof import('../../src/entries/fs.ts')} */
const bridgeFs = await load('fs')
/** @type {typeof import('../../src/entries/chokidar.ts')} */
const chokidar = await load('chokidar')
/** @type {typeof import('../../src/entries/parcel.ts')} */
const parcel = await load('parcel')

/** @type {Record<string, unknown>} */
const said = {}
/** @type {Array<{ close(): unknown }>} */
const opened = []
/** Closes something when the attempt is over. @template {{ close(): unknown }} T @param {T} what */
function atEnd(what) {
  opened.push(what)
  return what
}

/** @param {string} name @param {(directory: string) => Promise<unknown>} act */
async function attempt(name, act) {
  const directory = fs.mkdtempSync(join(base, 'part-'))
  fs.mkdirSync(join(directory, 'd'))
  fs.writeFileSync(join(directory, 'd/f'), 'old')
  const late = setTimeout(20_000, undefined, { ref: false }).then(() => Promise.reject(new Error('too late')))
  try {
    said[name] = await Promise.race([act(directory), late])
  } catch (error) {
    said[name] = `failed: ${/** @type {Error} */ (error).message.replaceAll(directory, '')}`
  } finally {
    for (const each of opened.splice(0)) await each.close()
  }
}

/** Rewrites a file until that has been told. @template T @param {string} path @param {Promise<T>} told */
async function untilTold(path, told) {
  let count = 0
  const writing = setInterval(() => fs.writeFileSync(path, `new ${'x'.repeat(count++ % 50)}`), 50)
  try {
    return await told
  } finally {
    clearInterval(writing)
  }
}

/** @param {'auto' | 'inotify' | 'poll'} backend @param {string} at @param {import('../../src/index.ts').WatchOptions} [options] */
const watching = (backend, at, options) => async (/** @type {string} */ directory) => {
  const path = join(directory, at)
  const watcher = atEnd(bridge.watch(path, { backend, interval: 50, ...options }))
  await watcher.ready
  /** @type {string[]} */
  const errors = []
  watcher.on('error', (error) => errors.push(error.message))
  const file = at === 'd' ? join(path, 'f') : path
  const changes = await untilTold(file, once(watcher, 'changes'))
  const [row] = watcher.coverage()
  return { told: changes[0][0].type, backend: row?.backend, why: row?.why, errors }
}
for (const backend of /** @type {const} */ (['auto', 'inotify', 'poll'])) {
  await attempt(`${backend}: a tree`, watching(backend, 'd', { recursive: true }))
  await attempt(`${backend}: a file`, watching(backend, 'd/f'))
  await attempt(`${backend}: a file to come`, watching(backend, 'd/later'))
}
for (const at of ['d', 'd/f']) {
  for (const recursive of [false, true]) {
    await attempt(`fs: ${at}${recursive ? ', recursive' : ''}`, async (directory) => {
      const watcher = atEnd(bridgeFs.watch(join(directory, at), { recursive }))
      return await untilTold(join(directory, 'd/f'), once(watcher, 'change'))
    })
  }
}
await attempt('chokidar', async (directory) => {
  const watcher = atEnd(chokidar.watch(join(directory, 'd'), { interval: 50 }))
  await once(watcher, 'ready')
  const [path] = await untilTold(join(directory, 'd/f'), once(watcher, 'change'))
  return path.slice(directory.length)
})
await attempt('parcel', async (directory) => {
  /** @type {(types: string[]) => void} */
  let tell = () => {}
  const told = new Promise((resolve) => {
    tell = resolve
  })
  const { unsubscribe: close } = await parcel.subscribe(join(directory, 'd'), (error, events) =>
    tell(error ? [error.message] : events.map(({ type }) => type)),
  )
  atEnd({ close })
  return await untilTold(join(directory, 'd/f'), told)
})
await attempt('mirror', async (directory) => {
  const target = join(directory, 'target')
  atEnd(await bridge.mirror(join(directory, 'd'), target, { interval: 50 }))
  fs.writeFileSync(join(directory, 'd/f'), 'mirrored')
  while (fs.readFileSync(join(target, 'f'), 'utf8') !== 'mirrored') await setTimeout(10)
  return 'mirrored'
})
await attempt('reload', async (directory) => {
  const action = { command: ['true'] }
  const reloader = atEnd(bridge.reload({ paths: [join(directory, 'd')], action, interval: 50 }))
  // An 'error' rejects it.
  const told = once(reloader, 'reload')
  await Promise.race([reloader.ready, told])
  const [{ changed }] = await untilTold(join(directory, 'd/f'), told)
  return changed
})
await attempt('publishing', async (directory) => {
  await bridge.replaceFile(join(directory, 'd/f'), 'published')
  await bridge.moveFile(join(directory, 'd/f'), join(directory, 'moved'))
  await bridge.publishDirectory(join(directory, 'published'), { key: 'value' })
  const read = (/** @type {string} */ at) => fs.readFileSync(join(directory, at), 'utf8')
  return [read('moved'), read('published/key')]
})
await attempt('save', async (directory) => {
  const watcher = atEnd(bridge.watch(join(directory, 'd')))
  await watcher.save(join(directory, 'snapshot'))
  const since = atEnd(bridge.watch(join(directory, 'd'), { since: join(directory, 'snapshot') }))
  await since.ready
  return fs.statSync(join(directory, 'snapshot')).size > 0
})
await attempt('diagnose', async (directory) => {
  const { backend, reasons, advice } = await bridge.diagnose(join(directory, 'd'))
  return { backend, text: [...reasons, ...advice].join('\n') }
})
console.log(JSON.stringify(said))
process.exit()
