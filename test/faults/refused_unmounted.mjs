// unshare -m node refused_unmounted.mjs DIRECTORY, where statx(2) may be refused: what a mirror says, and has in its target, when its source is unmounted.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const { mirror } = await import(join(import.meta.dirname, '../../dist/index.js'))
const [source, target] = [join(base, 'source'), join(base, 'target')]
fs.mkdirSync(source)
const mounted = spawnSync('mount', ['-t', 'tmpfs', 'none', source])
if (mounted.status !== 0) throw new Error(String(mounted.stderr))
fs.writeFileSync(join(source, 'f'), '')
const started = await mirror(source, target)
spawnSync('umount', ['-l', source])
await started.refresh()
console.log(JSON.stringify([started.state, fs.readdirSync(target)]))
await started.close()
