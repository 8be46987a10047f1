// Publishes version after version by all three functions at once, a symlink among what is moved, until it is killed. Waits for a line on stdin first, the version to
// go on from: starting takes most of its time. Tells what it has made and done: a line each, written at once.

import { once } from 'node:events'
import { renameSync, symlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
// Not all of the index: to load that would take longer than to be killed.
import { moveFile, publishDirectory, replaceFile } from '../../out/publish/publish.js'

const [home = '', elsewhere = ''] = process.argv.slice(2)
const say = (/** @type {string} */ what, /** @type {number} */ n) => writeSync(1, `${what} ${n}\n`)
const content = (/** @type {number} */ n) => String(n).padStart(8, '0').repeat(8192)

async function replace(/** @type {number} */ n) {
  await replaceFile(join(home, 'replaced/file'), content(n))
}

async function move(/** @type {number} */ n) {
  const source = join(elsewhere, 'source')
  writeFileSync(`${source}.new`, content(n))
  renameSync(`${source}.new`, source)
  say('made', n)
  await moveFile(source, join(home, 'moved/file'))
}

async function link(/** @type {number} */ n) {
  const source = join(elsewhere, 'link')
  symlinkSync(String(n), `${source}.new`)
  renameSync(`${source}.new`, source)
  await moveFile(source, join(home, 'linked/link'))
}

async function publish(/** @type {number} */ n) {
  const files = { a: content(n), 'sub/b': content(n), [`only${n % 3}`]: content(n) }
  await publishDirectory(join(home, 'published'), files)
}

say('ready', 0)
const first = Number(String(await once(process.stdin, 'data')))
await Promise.all(
  Object.entries({ replace, move, link, publish }).map(async ([what, run]) => {
    for (let n = first; ; n++) {
      await run(n)
      say(what, n)
    }
  }),
)
