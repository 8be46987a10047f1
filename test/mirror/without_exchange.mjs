// Runs in a user and mount namespace, on a tmpfs of its own: mirrors to bindfs, which cannot exchange entries and keeps what is removed while it is open, and
// prints as JSON what became of entries that change between file and directory, and what mirrors left.
//
//   unshare -rm node without_exchange.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { serve } from './fuse_mount.mjs'

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { mirror } = await import(join(import.meta.dirname, '../../dist/index.js'))

const [, , base = ''] = process.argv
if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
const [source, back, target] = [join(base, 'source'), join(base, 'back'), join(base, 'target')]
for (const path of [back, target, join(source, 'x')]) fs.mkdirSync(path, { recursive: true })
const server = await serve(['bindfs', '-f', '--no-allow-other', back, target], target)
fs.writeFileSync(join(source, 'x/in'), 'one')
fs.writeFileSync(join(source, 'y'), 'one')

const options = { interval: 60_000, quiet: 5 }
const first = await mirror(source, target, options)
fs.rmSync(join(source, 'x'), { recursive: true })
fs.writeFileSync(join(source, 'x'), 'a file')
fs.rmSync(join(source, 'y'))
fs.mkdirSync(join(source, 'y'))
fs.writeFileSync(join(source, 'y/in'), 'two')
await first.refresh()
const errors = first.errors.map(String)
const found = ['x', 'y'].map(
  (name) => `${name} is a ${fs.lstatSync(join(target, name)).isDirectory() ? 'directory' : 'file'}`,
)
await first.close()
const left = [[...fs.readdirSync(back)]]
while (left.length < 10) {
  // The second mirror removes what the first one leaves to it.
  await (await mirror(source, target, options)).close({ keep: left.length % 2 === 1 })
  await (await mirror(source, target, options)).close()
  left.push(fs.readdirSync(back))
}
server.kill('SIGKILL')
process.stdout.write(JSON.stringify({ found, errors, left }))
process.exit()
