// Runs in a user namespace of its own, in which there are so many watches: what a recursive watch() of inotify-bridge/fs says of a tree of three directories, as JSON.
//
//   unshare -r node few_watches.mjs DIRECTORY WATCHES
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , base = '', watches = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/entries/fs.ts')} */
const bridge = await import(join(import.meta.dirname, '../../dist/fs.js'))
mkdirSync(join(base, 'a/b'), { recursive: true })
writeFileSync('/proc/sys/user/max_inotify_watches', watches)
/** @type {Set<unknown>} */
const names = new Set()
const DEEP = 'a/b/file'
try {
  await new Promise((resolve) => {
    const watcher = bridge.watch(base, { recursive: true }, (_, name) => {
      names.add(name)
      if (name !== DEEP) return
      watcher.close()
      clearInterval(writing)
      resolve(undefined)
    })
    let count = 0
    const writing = setInterval(() => writeFileSync(join(base, DEEP), `${count++}`), 300)
  })
  console.log(JSON.stringify({ names: [...names] }))
} catch (error) {
  const { code, syscall, filename, hint } = /** @type {NodeJS.ErrnoException & Record<string, string>} */ (
    error
  )
  console.log(JSON.stringify({ code, syscall, filename, hint }))
}
