// node refused_watches.mjs CONTROL DIRECTORY, with faults.c preloaded: inotify_add_watch(2) fails with EACCES
// for a whole tree, for a directory below, and for a file, all of which may be read.
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { Control } from './control.mjs'

const [, , path = '', base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../dist/index.js'))
const control = new Control(path)
const file = join(base, 'd/f')
fs.mkdirSync(join(base, 'd'))
fs.writeFileSync(file, '')
// The first watcher of a process looks if inotify is refused to the whole process.
await watch(base).close()

/** @param {string} at @param {number} skip @param {import('../../src/index.ts').WatchOptions} [options] */
async function told(at, skip, options) {
  control.fail('inotify_add_watch', 13, skip, 1_000_000)
  const watcher = watch(at, { recursive: true, interval: 20, ...options })
  /** @type {string[]} */
  const errors = []
  watcher.on('error', (error) => errors.push(error.message))
  try {
    await watcher.ready
    fs.appendFileSync(file, 'x')
    const [changes] = await once(watcher, 'changes')
    const [row] = watcher.coverage()
    const uncovered = row?.uncovered.map(({ error }) => error.message)
    return {
      backend: row?.backend,
      uncovered,
      told: changes.map((/** @type {{ type: string }} */ { type }) => type),
      errors,
    }
  } catch (error) {
    return /** @type {Error} */ (error).message
  } finally {
    control.stop()
    await watcher.close()
  }
}
// One watch is that of the directory itself.
const said = {
  'a tree': await told(base, 0),
  'a directory below': await told(base, 1),
  'a file': await told(file, 0),
  'asked for': await told(base, 0, { backend: 'inotify' }),
}
console.log(JSON.stringify(said))
process.exit()
