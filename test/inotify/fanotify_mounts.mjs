// unshare -m node fanotify_mounts.mjs DIRECTORY: a file system at DIRECTORY/fs, and its directory b once more at DIRECTORY/sub. Prints the paths of
// three files as either mount, and as both, have them; of one while another file system covers it, and afterwards; and that nothing keeps a marked file system mounted.
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const { Fanotify } = await import(join(import.meta.dirname, '../../dist/index.js'))
const sh = (/** @type {string} */ script) => execFileSync('sh', ['-ec', script], { cwd: base })
sh('mkdir fs sub; mount -t tmpfs none fs; mkdir -p fs/a fs/b/b; mount --bind fs/b sub')

/** @param {string[]} names */
async function told(...names) {
  const fanotify = new Fanotify()
  for (const name of names) fanotify.add(join(base, name))
  spawn('sh', ['-c', 'for f in fs/a/f fs/b/b/f fs/b/last; do echo >$f; done'], { cwd: base })
  const paths = new Set()
  for await (const events of fanotify) {
    for (const { path = '' } of events) if (path.endsWith('/f')) paths.add(path.replace(`${base}/`, ''))
    if (events.some(({ path }) => path?.endsWith('/last'))) break
  }
  return [...paths].sort().join(' ')
}

const [bySubtree, byBoth] = [await told('sub'), await told('fs', 'sub')]
const fanotify = new Fanotify()
fanotify.add(join(base, 'fs'))
async function next() {
  const { value } = await fanotify[Symbol.asyncIterator]().next()
  return JSON.stringify([
    ...new Set(value.map((/** @type {{ path?: string }} */ { path }) => path?.slice(base.length + 1))),
  ])
}
sh('mount -t tmpfs none fs; echo >sub/b/f')
const covered = await next()
sh('umount fs; echo >sub/b/f')
const uncovered = await next()
sh('umount sub fs')
fanotify.close()
console.log(`${bySubtree}; ${byBoth}; covered ${covered}, uncovered ${uncovered}; unmounted`)
