// Runs as root in a mount namespace, on a btrfs of its own, whose subvolumes have devices of their own and
// the same inode numbers: the top of each is 256. Follows links from one subvolume to another that are there
// at the start, are made later, lead elsewhere in the end, or round in a circle. Prints as JSON the entries
// and the changes.
//
//   unshare -m node subvolumes.mjs DIRECTORY BACKEND
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'

const [, , base = '', backend = 'auto'] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const run = (/** @type {string[]} */ ...[program = '', ...args]) =>
  execFileSync(program, args, { stdio: 'ignore' })
const at = (/** @type {string} */ path) => join(base, path)
const top = at('top')
const in_ = (/** @type {string} */ path) => join(top, path)

run('mount', '--make-rprivate', '/')
run('mount', '-t', 'tmpfs', '-o', 'size=300m', 'none', base)
fs.mkdirSync(top)
run('truncate', '-s', '256M', at('image'))
run('mkfs.btrfs', '-q', at('image'))
try {
  run('mount', '-o', 'loop', at('image'), top)
} catch (error) {
  process.stdout.write(JSON.stringify({ unable: String(error) }))
  process.exit()
}
fs.mkdirSync(in_('root'))
for (const path of ['root/one', 'root/one/nested', 'root/two', 'other'])
  run('btrfs', '-q', 'subvolume', 'create', in_(path))
fs.mkdirSync(in_('other/d'))
fs.mkdirSync(in_('root/one/deep'))
fs.writeFileSync(in_('other/d/f'), 'one')
fs.writeFileSync(in_('root/two/f'), 'one')
// Each name, number and time of the one is that of the other as well.
run('btrfs', '-q', 'subvolume', 'snapshot', in_('other'), in_('copy'))
fs.writeFileSync(in_('copy/d/f'), 'other')
const LINKS = [
  ['root/one/sibling', '../two'],
  ['root/one/outside', '../../other'],
  ['root/one/deep/below', '../nested'],
  ['root/one/deep/circle', '..'],
  ['root/two/to-root', '../../root'],
]
const link = () => {
  for (const [path = '', target = ''] of LINKS) fs.symlinkSync(target, in_(path))
}
const result = []
for (const isEarly of [true, false]) {
  if (isEarly) link()
  else for (const [path = ''] of LINKS) fs.unlinkSync(in_(path))
  const watcher = watch(in_('root'), {
    recursive: true,
    followSymlinks: true,
    interval: 20,
    .../** @type {{}} */ (backend === 'auto' ? {} : { backend }),
  })
  /** @type {string[]} */
  const told = []
  watcher.on('changes', (changes) =>
    told.push(...changes.map(({ type, path }) => `${type} ${path.slice(top.length)}`)),
  )
  const settled = async () => {
    for (let i = 0; i < 3; i++) await watcher.sync()
    return told.splice(0)
  }
  await watcher.ready
  if (!isEarly) link()
  await settled()
  const kinds = Object.fromEntries(
    [...watcher.entries()].map(({ path, kind }) => [path.slice(top.length + 1), kind]),
  )
  fs.appendFileSync(in_('other/d/f'), '!')
  const written = await settled()
  fs.symlinkSync('../../copy', in_('root/one/new'))
  fs.renameSync(in_('root/one/new'), in_('root/one/outside'))
  const led = await settled()
  const holds = [...watcher.entries()].filter(({ path }) => path.startsWith(in_('root/one/outside/'))).length
  fs.appendFileSync(in_('copy/d/f'), '!')
  const behind = await settled()
  fs.symlinkSync('../../other', in_('root/one/new'))
  fs.renameSync(in_('root/one/new'), in_('root/one/outside'))
  await watcher.close()
  result.push({ links: LINKS.map(([path = '']) => kinds[path]), written, led, holds, behind })
}
process.stdout.write(JSON.stringify(result))
process.chdir('/')
run('umount', top)
run('umount', base)
process.exit()
