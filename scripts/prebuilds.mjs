// node scripts/prebuilds.mjs make | clean: the compiled addon's place in the tarball, made by `npm pack` and never committed.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const prebuilds = join(root, 'prebuilds')

rmSync(prebuilds, { recursive: true, force: true })
if (process.argv[2] === 'make') {
  const directory = join(prebuilds, `${process.platform}-${process.arch}`)
  const addon = join(directory, 'inotify_bridge.node')
  mkdirSync(directory, { recursive: true })
  cpSync(join(root, 'build/Release/inotify_bridge.node'), addon)
  const stripped = spawnSync('strip', ['--strip-unneeded', addon], { stdio: 'inherit' })
  if (stripped.status !== 0) throw new Error('strip (of binutils, which g++ needs as well) failed')
}
