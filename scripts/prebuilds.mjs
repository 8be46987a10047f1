// node scripts/prebuilds.mjs make | clean: the place of what is compiled in the tarball, made by `npm pack` and never committed.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const prebuilds = join(root, 'prebuilds')

rmSync(prebuilds, { recursive: true, force: true })
if (process.argv[2] === 'make') {
  const directory = join(prebuilds, `${process.platform}-${process.arch}`)
  mkdirSync(directory, { recursive: true })
  for (const name of ['inotify_bridge.node', 'inotify_bridge_enter']) {
    const file = join(directory, name)
    cpSync(join(root, 'build/Release', name), file)
    const stripped = spawnSync('strip', ['--strip-unneeded', file], { stdio: 'inherit' })
    if (stripped.status !== 0) throw new Error('strip (of binutils, which g++ needs as well) failed')
  }
}
