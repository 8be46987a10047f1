// The watchers that are not part of node, each a program that answers like the yardstick, in JSON lines:
//
//   until-last DIR        {"ms", "MiB"} when it watches. Once a name that begins with "last" has come,
//                         {"delivered", "overflows", "inOrder", "toLastMs", "cpuMs"}, without that name
//   tree DIR              the same for all directories below DIR
//   blocked DIR           the same, and between the two lines waits for a byte on stdin without taking events
//   latency DIR SAMPLES   {"received": [CLOCK_MONOTONIC in ns at which event-N was seen]} as well
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { compileC } from '../scratch.mjs'

const PROGRAMS = join(import.meta.dirname, '../programs')
const GO_SOURCES = '/usr/share/gocode'
const CRATES = '/usr/share/cargo/registry'

/**
 * @typedef {object} Outside
 * @property {() => string} version                  Throws if the watcher is not installed.
 * @property {(directory: string) => string} build   Builds in an empty directory, and returns the program.
 *
 * @typedef {object} Peers
 * @property {ReadonlyMap<string, string>} programs  By the watcher's name.
 * @property {string[]} versions
 * @property {string[]} missing                      Watchers that are not installed, or could not be built.
 */

/** @type {Record<string, Outside>} */
const OUTSIDE = {
  inotifywait: {
    // inotifywait has no --version, and --help ends with 1.
    version: () => firstLine(run('sh', ['-c', 'command -v inotifywait >&2 && inotifywait --help | cat'])),
    build(directory) {
      const program = join(directory, 'printed_names')
      compileC('printed_names.c', program)
      return program
    },
  },
  'Go fsnotify': {
    version: () =>
      `Go fsnotify ${versionOfPackage('golang-github-fsnotify-fsnotify-dev')} (${run('go', ['env', 'GOVERSION'])})`,
    build(directory) {
      const program = join(directory, 'fsnotify')
      const environment = {
        GO111MODULE: 'off',
        GOPATH: GO_SOURCES,
        GOCACHE: join(directory, 'cache'),
        GOFLAGS: '',
      }
      run('go', ['build', '-o', program, 'main.go'], join(PROGRAMS, 'fsnotify'), environment)
      return program
    },
  },
  'Rust notify': {
    version: () =>
      `Rust ${crate('notify-5')} (${run('rustc', ['--version']).split(' ').slice(0, 2).join(' ')})`,
    build(directory) {
      cpSync(join(PROGRAMS, 'notify'), directory, { recursive: true })
      // Builds from Debian's sources alone, whatever this user's settings say, and fetches nothing.
      const settings = [`source.crates-io.replace-with="debian"`, `source.debian.directory="${CRATES}"`]
      const environment = { CARGO_HOME: join(directory, 'home'), CARGO_TARGET_DIR: join(directory, 'target') }
      const flags = [
        '--release',
        '--offline',
        '--quiet',
        ...settings.flatMap((setting) => ['--config', setting]),
      ]
      run('cargo', ['build', ...flags], directory, environment)
      return join(directory, 'target/release/rust_notify')
    },
  },
}

/**
 * Prepares those of these watchers that are not part of node. Leaves missing ones out, and names them.
 * @param {Iterable<string>} watchers
 * @param {string} scratch
 * @returns {Peers}
 */
export function preparePeers(watchers, scratch) {
  const programs = new Map()
  const [versions, missing] = [[], []].map((list) => /** @type {string[]} */ (list))
  for (const name of new Set(watchers)) {
    const outside = OUTSIDE[name]
    if (outside === undefined) continue
    try {
      const version = outside.version()
      const directory = join(scratch, name.replace(' ', '-'))
      mkdirSync(directory)
      programs.set(name, outside.build(directory))
      versions?.push(version)
    } catch (error) {
      missing?.push(name)
      const reason = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error)
      process.stderr.write(`${name} is left out: ${reason}\n`)
    }
  }
  return { programs, versions: versions ?? [], missing: missing ?? [] }
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 * @param {NodeJS.ProcessEnv} [environment]
 */
function run(command, args, cwd, environment) {
  const env = { ...process.env, ...environment }
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

/** @param {string} text */
const firstLine = (text) => text.split('\n')[0] ?? ''

/** @param {string} name */
const versionOfPackage = (name) => run('dpkg-query', ['--show', name]).split('\t')[1]

/** @param {string} prefix */
function crate(prefix) {
  const name = readdirSync(CRATES).find((found) => found.startsWith(prefix))
  if (name === undefined) throw new Error(`${CRATES} has no ${prefix}`)
  return name.replace('-', ' ')
}
