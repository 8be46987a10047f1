// Runs in a mount namespace, on a tmpfs of its own: plays the scenarios behind a silent mount and prints as JSON how each failed.
//
//   unshare -m[r] node scenarios.mjs FUSE|overlay DIRECTORY root|user
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { serveFuse } from './fuse_mount.mjs'
import { play, SCENARIOS } from './scenarios/all.mjs'
import { library } from './scenarios/library.mjs'
import { OPERATIONS } from './scenarios/operations.mjs'
import { Scene } from './scenarios/scene.mjs'

const [, , kind = '', base = '', who = ''] = process.argv
if (kind !== 'FUSE' && kind !== 'overlay') throw new Error(`no such mount: ${kind}`)
if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
const [back, front, control] = [join(base, 'back'), join(base, 'front'), join(base, 'control')]
for (const path of [back, front]) fs.mkdirSync(path)
// Before the mount: overlay remembers for ever that a name was not there.
for (const n of SCENARIOS.keys()) fs.mkdirSync(join(back, `${n}/source`), { recursive: true })

if (kind === 'FUSE') {
  await serveFuse(back, front, control)
} else {
  for (const name of ['upper', 'work']) fs.mkdirSync(join(base, name))
  const layers = `lowerdir=${back},upperdir=${join(base, 'upper')},workdir=${join(base, 'work')},userxattr`
  const { status, stderr } = spawnSync('mount', ['-t', 'overlay', '-o', layers, 'overlay', front])
  if (status !== 0) {
    process.stdout.write(JSON.stringify({ unable: `overlay: ${String(stderr).trim()}` }))
    process.exit()
  }
}

const failures = await play(kind, (n) => {
  /** @type {import('./scenarios/scene.mjs').Mount} */
  const mount = {
    kind,
    isRoot: who === 'root',
    fail: (/** @type {unknown[]} */ rules) => fs.writeFileSync(control, JSON.stringify(rules)),
    serve: serveFuse,
  }
  return new Scene({
    library,
    mount,
    home: join(front, `${n}`),
    memory: join(base, `memory-${n}`),
    change: async (operation, { path = '', ...rest }) => {
      const parameters = { path: join(back, `${n}`, path), ...rest }
      await OPERATIONS[operation]?.(
        /** @type {import('./scenarios/operations.mjs').Parameters} */ (parameters),
      )
    },
  })
})
process.stdout.write(JSON.stringify({ failures }))
process.exit()
