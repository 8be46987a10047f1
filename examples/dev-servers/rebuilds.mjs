// A program, started in a project of its own, and which version of its file it has built.
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../stage.mjs'

const MODULES = join(import.meta.dirname, '../node_modules')

/** The one line. It has the path here, and not inotify-bridge/register, as the example lies in the package's own repository. */
const NODE_OPTIONS = `--import ${import.meta.resolve('../../dist/register.js')}`

const PATIENCE = 20_000

export class Rebuilds {
  version = 0
  #look

  /** @param {() => string | Promise<string>} look */
  constructor(look) {
    this.#look = look
  }

  /** Resolves when this version, or a later one, is built. @param {number} version @param {number} [patience] ms, after which it rejects */
  async reach(version, patience = PATIENCE) {
    for (const start = performance.now(); ; await sleep(10)) {
      // Not there yet, or half of it.
      const text = await Promise.resolve()
        .then(this.#look)
        .catch(() => '')
      this.version = Math.max(this.version, Number(/\bversion = (\d+)/.exec(text)?.[1] ?? 0))
      if (this.version >= version) return
      if (performance.now() - start > patience)
        throw new Error(`version ${version} is not built in ${patience} ms, but ${this.version}`)
    }
  }
}

/**
 * Makes the project at `behind`, and starts the program where it sees that. Resolves when it has built for the first time.
 *
 * @param {import('./programs.mjs').Program} program
 * @param {{ behind: string, project: string, out: string, isOurs: boolean }} place
 * @param {import('../stage.mjs').Stage['start']} start
 */
export async function run({ bin, file, text, files, written, args, built }, place, start) {
  const { behind, project, out, isOurs } = place
  mkdirSync(out, { recursive: true })
  for (const [name, content] of Object.entries({ ...files, [file]: text(1) })) {
    mkdirSync(dirname(join(behind, name)), { recursive: true })
    writeFileSync(join(behind, name), content)
  }
  symlinkSync(MODULES, join(behind, 'node_modules'))
  if (written !== undefined) {
    mkdirSync(join(behind, written))
    if (project !== behind) spawnSync('mount', ['-t', 'tmpfs', 'none', join(project, written)])
  }
  const where = { project, out, port: await freePort() }
  const environment = { OUT: out, NEXT_TELEMETRY_DISABLED: '1', NODE_OPTIONS: isOurs ? NODE_OPTIONS : '' }
  const started = start(process.execPath, [join(MODULES, bin), ...args(where)], environment)
  const rebuilds = new Rebuilds(() => built(where, started.output))
  await rebuilds.reach(1, 3 * PATIENCE).catch((cause) => {
    throw new Error(`it has not built: ${started.output}`, { cause })
  })
  return rebuilds
}
