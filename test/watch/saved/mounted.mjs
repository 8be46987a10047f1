// Saves a tree in which another filesystem is mounted, and tells what since makes of it: a line of JSON for each step. To be run in a mount namespace of its own, with the tree's path.
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/entries/watch.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/watch.js'))

const [, , root = ''] = process.argv
/** @param {string} name */
const at = (name) => join(root, name)
const file = `${root}.saved`

/** @param {string[]} args */
const run = (...args) => execFileSync(args[0] ?? '', args.slice(1))

/** Resolves when no entry is in doubt any more. */
async function settled() {
  const newest = () =>
    Math.max(...readdirSync(root, { recursive: true }).map((name) => lstatSync(at(String(name))).ctimeMs))
  while (Date.now() - newest() < 60) await setTimeout(5)
}

async function save() {
  await settled()
  const watcher = watch(root, { recursive: true })
  await watcher.save(file)
  await watcher.close()
}

async function since() {
  const watcher = watch(root, { recursive: true, since: file })
  /** @type {string[]} */
  const words = []
  watcher.on('error', (error) => void words.push(error.message))
  watcher.on('changes', (changes) => {
    for (const change of changes) words.push(`${change.type} ${change.path.slice(root.length + 1)}`)
  })
  await watcher.ready
  console.log(JSON.stringify(words))
  await watcher.close()
}

const MOUNT = ['mount', '-t', 'tmpfs', 'none', at('m')]
mkdirSync(at('m'))
writeFileSync(at('m/beneath'), '')
run(...MOUNT)
for (const name of ['x', 'y']) writeFileSync(at(`m/${name}`), '')
await save()
await since()
writeFileSync(at('m/x'), 'written')
renameSync(at('m/y'), at('m/z'))
await since()
await save()
run('umount', at('m'))
await since()
await save()
run(...MOUNT)
writeFileSync(at('m/new'), '')
await since()
