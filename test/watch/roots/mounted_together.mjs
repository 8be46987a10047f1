// Runs in a mount namespace. Mounts a file over one of several roots and a filesystem over the directory of
// others, at each moment at which files that are given together are looked at. Prints as JSON, for each
// moment, the paths that were told after a write to the mounted files, and after the end of the mounts.
//
//   unshare -rm node mounted_together.mjs DIRECTORY
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'

const [, , base = ''] = process.argv
const out = join(import.meta.dirname, '../../../out/watch')
/** No literal paths, because out is missing before the build. @type {typeof import('../../../src/watch/linux.ts')} */
const { linux } = await import(join(out, 'linux.js'))
/** @type {typeof import('../../../src/watch/watcher.ts')} */
const { Watcher } = await import(join(out, 'watcher.js'))
// The entry point sets how the engine is loaded.
await import(join(out, '../index.js'))
const at = (/** @type {string} */ name) => join(base, name)
const run = (/** @type {string} */ script) => void execFileSync('sh', ['-ec', script], { cwd: base })

for (const directory of ['d', 'e']) fs.mkdirSync(at(directory))
for (const name of ['d/alone', 'd/mounted', 'e/f', 'source']) fs.writeFileSync(at(name), name)

/** @type {Array<{ written: string[], unmounted: string[] }>} */
const each = []
let isOver = false
for (let moment = 0; !isOver; moment++) {
  let steps = 0
  let isMounted = false
  const mount = () => {
    if (!isMounted) run('mount --bind source d/mounted; mount -t tmpfs none e; echo > e/f')
    isMounted = true
  }
  const step = () => {
    if (steps++ === moment) mount()
  }
  /** @type {typeof linux.followTogether} */
  const followTogether = async (paths) => {
    step()
    const found = await linux.followTogether(paths)
    step()
    return found
  }
  /** @type {typeof linux.survey} */
  const survey = async (directories) => {
    step()
    const found = await linux.survey(directories)
    step()
    return found
  }
  const openWalker = () => {
    const walker = linux.openWalker()
    const walk = walker.walk.bind(walker)
    walker.walk = async (...args) => {
      step()
      await walk(...args)
      step()
    }
    return walker
  }
  const roots = ['d/alone', 'd/mounted', 'e/f'].map(at)
  const watcher = new Watcher(
    roots,
    { interval: 1_000_000 },
    { ...linux, followTogether, survey, openWalker },
  )
  /** @type {Set<string>} */
  const told = new Set()
  watcher.on('changes', (changes) => {
    for (const { path } of changes) told.add(path.slice(base.length + 1))
  })
  /** Waits for events and for the mount table: sync() would look at all roots. */
  const expectTold = async (/** @type {string[]} */ ...paths) => {
    const deadline = Date.now() + 20_000
    while (paths.some((path) => !told.has(path)) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 5))
    return [...told].sort()
  }
  await watcher.ready
  isOver = !isMounted
  mount()
  await watcher.sync()
  told.clear()
  fs.appendFileSync(at('source'), 'x')
  fs.appendFileSync(at('e/f'), 'x')
  const written = await expectTold('d/mounted', 'e/f')
  told.clear()
  // A directory that a thread has open at this moment is busy (umount(2), EBUSY).
  run('for point in d/mounted e; do until umount $point; do sleep 0.01; done; done')
  each.push({ written, unmounted: await expectTold('d/mounted', 'e/f') })
  await watcher.close()
}
process.stdout.write(JSON.stringify(each))
