// Runs as root in a mount namespace, on an NTFS that ignores the case of names. Uses names in another case
// than the stored ones. Prints as JSON the changes of each step, and the entries and the files at the end.
//
//   unshare -m node any_case.mjs DIRECTORY BACKEND
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [, , base = '', backend = 'auto'] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const run = (/** @type {string[]} */ ...[program = '', ...args]) =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' })
run('mount', '--make-rprivate', '/')
run('mount', '-t', 'tmpfs', '-o', 'size=100m', 'none', base)
const top = join(base, 'top')
fs.mkdirSync(top)
run('truncate', '-s', '40M', join(base, 'image'))
run('mkntfs', '-q', '-F', join(base, 'image'))
const loop = run('losetup', '-f', '--show', join(base, 'image')).trim()
run('lowntfs-3g', '-o', 'ignore_case', loop, top)
const at = (/** @type {string} */ path) => join(top, path)
fs.mkdirSync(at('Sub/deep'), { recursive: true })
for (const name of [
  'file.txt',
  'UPPER',
  'Mixed.Txt',
  'Ünïcode',
  'moved',
  'Sub/deep/ReadMe.md',
  'source',
  'over',
])
  fs.writeFileSync(at(name), name)

/** @type {string[]} */
const told = []
const watcher = watch(top, {
  recursive: true,
  interval: 50,
  ignore: (path) => path.endsWith('.log'),
  .../** @type {{}} */ (backend === 'auto' ? {} : { backend }),
})
watcher.on('changes', (changes) => {
  for (const { type, path } of changes) told.push(`${type} ${path.slice(top.length + 1)}`)
})
await watcher.ready
/** @type {Record<string, string[]>} */
const steps = {}
/** @param {string} name @param {() => void} change */
async function step(name, change) {
  change()
  // A first look may leave a name in doubt.
  for (let i = 0; i < 3; i++) await watcher.sync()
  steps[name] = [...new Set(told.splice(0))]
}
await step('written', () => fs.appendFileSync(at('FILE.TXT'), '!'))
await step('upper', () => fs.appendFileSync(at('upper'), '!'))
await step('mixed', () => fs.appendFileSync(at('mIXED.tXT'), '!'))
await step('deep', () => fs.appendFileSync(at('SUB/Deep/README.MD'), '!'))
await step('unicode', () => fs.appendFileSync(at('üNÏCODE'), '!'))
await step('directory', () => fs.chmodSync(at('SUB'), 0o700))
await step('made', () => fs.writeFileSync(at('SUB/New'), ''))
await step('again', () => fs.writeFileSync(at('sub/nEW'), 'more'))
await step('ignored', () => fs.writeFileSync(at('X.log'), ''))
await step('moved', () => fs.renameSync(at('MOVED'), at('Sub/here')))
await step('over', () => fs.renameSync(at('source'), at('OVER')))
await step('removed', () => fs.unlinkSync(at('FILE.txt')))
await step('removedDeep', () => fs.rmSync(at('sUB/DEEP'), { recursive: true }))
const believed = [...watcher.entries()].map(({ path }) => path.slice(top.length + 1)).sort()
const there = fs
  .readdirSync(top, { recursive: true })
  .map(String)
  .filter((name) => !name.endsWith('.log'))
await watcher.close()
process.stdout.write(JSON.stringify({ steps, believed, there: there.sort() }))
run('umount', '-l', top)
await sleep(200)
run('losetup', '-d', loop)
run('umount', '-l', base)
process.exit()
