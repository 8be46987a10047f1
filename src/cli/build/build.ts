import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findCompiled, refuseOtherRuntimes } from '../../compiled.ts'
import { printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { defineCommand, parse, UsageError } from '../shared/command.ts'
import { printLine, tell } from '../shared/output.ts'
import { compilerThatIsMissing, run } from './tools.ts'
import { Workspace } from './workspace.ts'

const description = {
  usage: [''],
  about: `Compiles the addon where this package is installed, of the source that lies in its native/: for an architecture that no binary has been
packed for. What has been packed is left as it is, and what has been compiled is used in its place. What was compiled before is
replaced when the new is done and can be loaded; a build that fails, or is stopped, leaves it.

It needs g++ (or what CXX names), make and python3:
  Debian   apt install g++ make python3
  Alpine   apk add g++ make python3 linux-headers

Of npm's it takes node-gyp and node-addon-api, from node_modules where they are there, and fetches them otherwise for as long as it runs.
Headers of Node that lie beside it are taken, and fetched by node-gyp otherwise.`,
  options: {},
  notes: 'Exit code: 0 done, 1 failed, 2 wrong usage.',
  examples: [
    'npx inotify-bridge build',
    'CXX=clang++ npx inotify-bridge build',
    'node node_modules/inotify-bridge/dist/cli.js build',
  ],
}

// As they are tested with.
const FETCHED = ['node-gyp@12', 'node-addon-api@8']

export const buildCommand = defineCommand('build', description, {
  async run(args, signal) {
    if (parse(args, {}).positionals.length > 0) throw new UsageError('it takes no arguments')
    const { moduleRoot } = findCompiled('addon')
    if (process.platform !== 'linux') throw new Error('inotify is a facility of the Linux kernel')
    refuseOtherRuntimes()
    const unable = devNullMissing()
    if (unable !== undefined) throw new Error(unable)
    try {
      printLine(`built ${await build(moduleRoot, signal)}`)
    } catch (error) {
      // Unlike a command that goes on until it is stopped.
      throw signal.aborted ? new Error('stopped before it was done') : error
    }
    return 0
  },
})

/** Returns the path of what has been compiled. */
async function build(moduleRoot: string, signal: AbortSignal): Promise<string> {
  const missing = await compilerThatIsMissing(signal)
  if (missing !== undefined)
    throw new Error(`${missing} is missing: apt install g++ make python3 (--help has others)`)
  const native = join(moduleRoot, 'native')
  const fetchedTo = mkdtempSync(join(tmpdir(), 'inotify-bridge-build-'))
  try {
    using workspace = new Workspace(native)
    const modules = installedFor(moduleRoot) ?? (await fetch(fetchedTo, signal))
    tell('build', `compiles in ${printable(native)}`, 'info')
    const gyp = [modules.gyp, 'rebuild', '--loglevel=error', ...headersBesideNode()]
    const env = { ...process.env, NODE_PATH: modules.path }
    await run(process.execPath, gyp, { cwd: workspace.directory, env, signal })
    return workspace.install()
  } finally {
    rmSync(fetchedTo, { recursive: true, force: true })
  }
}

interface Modules {
  /** The file that is node-gyp's command. */
  readonly gyp: string
  /** A directory of node_modules that has node-addon-api, which binding.gyp asks for. */
  readonly path: string
}

/** What there is already, for whoever is to have nothing fetched. */
function installedFor(moduleRoot: string): Modules | undefined {
  try {
    const { resolve } = createRequire(join(moduleRoot, 'package.json'))
    const api = resolve('node-addon-api/package.json')
    return { gyp: resolve('node-gyp/bin/node-gyp.js'), path: dirname(dirname(api)) }
  } catch {
    return undefined
  }
}

async function fetch(directory: string, signal: AbortSignal): Promise<Modules> {
  const install = [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefix',
    directory,
    ...FETCHED,
  ]
  tell('build', `fetches ${FETCHED.join(' and ')}`, 'info')
  await run('npm', install, { cwd: directory, env: process.env, signal })
  const path = join(directory, 'node_modules')
  return { gyp: join(path, 'node-gyp/bin/node-gyp.js'), path }
}

/** As official tarballs and most distributions have them. */
function headersBesideNode(): string[] {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : []
}
