import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { serveFuse } from '../../test/mirror/fuse_mount.mjs'
import { MOUNTS, onStage, say } from '../stage.mjs'
import { byTurns, whereSilent } from './edits.mjs'
import { PROGRAMS as ALL } from './programs.mjs'

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean' }, edits: { type: 'string', default: '20' } },
  allowPositionals: true,
})
const edits = Number(values.edits)
const unknown = positionals.filter((name) => !ALL.some((program) => program.name === name))
if (!(edits >= 1) || unknown.length > 0)
  throw new Error(`usage: show.mjs [--json] [--edits N] [${ALL.map(({ name }) => name).join('] [')}]`)
const chosen = positionals.length === 0 ? ALL : ALL.filter(({ name }) => positionals.includes(name))

const needs = {
  programs: ['setpriv'],
  packages: ['next', 'webpack-dev-server'],
  devices: ['/dev/fuse'],
  namespace: MOUNTS,
}

await onStage(needs, async ({ directory, start }) => {
  const [host, guest] = [join(directory, 'host'), join(directory, 'guest')]
  for (const path of [host, guest]) await mkdir(path)
  // For virtiofs, which is FUSE with a virtual machine between: as there, the server tells the kernel of no change.
  await serveFuse(host, guest)

  /** Whatever `play` starts is ended when it is done. @template T @param {(begin: typeof start) => Promise<T>} play */
  async function alone(play) {
    /** @type {ReturnType<typeof start>[]} */
    const started = []
    try {
      return await play((file, args, environment) => {
        // What they cache among temporary files goes with the rest.
        const program = start(file, args, { TMPDIR: directory, ...environment })
        started.push(program)
        return program
      })
    } finally {
      for (const { child } of started) child.kill('SIGKILL')
      await Promise.all(started.map(({ exited }) => exited))
    }
  }

  for (const program of chosen) {
    const { name } = program
    const silent = await alone((begin) =>
      whereSilent(
        program,
        { behind: join(host, name), shown: join(guest, name), out: join(directory, `${name}-silent`) },
        Math.min(edits, 5),
        begin,
      ),
    )
    const here = join(directory, name)
    const ordinary = await alone((begin) =>
      byTurns(program, { behind: here, shown: here, out: join(directory, `${name}-out`) }, edits, begin),
    )
    const ratio = ordinary.ours / ordinary.own
    if (values.json) {
      say(JSON.stringify({ program: name, edits, silent, ordinary: { ...ordinary, ratio } }))
      continue
    }
    const own = silent.isOwnRebuilt ? 'rebuilt, too' : `not in ${ms(silent.bound)}`
    say(name)
    say(`  where no events are delivered: rebuilt ${ms(silent.p50)} after an edit; its own watcher: ${own}`)
    say(
      `  where they are, ${edits} edits by turns: ${ms(ordinary.ours)}; its own watcher: ${ms(ordinary.own)} (x ${ratio.toFixed(2)})`,
    )
  }
})

/** @param {number} time */
function ms(time) {
  return `${time.toFixed(time < 20 ? 1 : 0)} ms`
}
