// Where each example's show.mjs plays: a directory of its own, and a namespace if it mounts something; what is not there to show it with
// is said in one line, and all that was made or started goes with it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export const MAIN = join(import.meta.dirname, '../dist/cli.js')

const PROCESS_1 = ['-pmf', '--mount-proc', '--kill-child']

/** For unshare(1): a user namespace, no root needed, in which the example may mount. All that is started in it ends with it. */
export const MOUNTS = ['-r', ...PROCESS_1]

/** For unshare(1): the same for a user without any capability, as in a container that says runAsNonRoot. */
export const CONTAINER = ['-U', '--map-user=1000', '--map-group=1000', ...PROCESS_1]

/** @param {string} line */
export const say = (line) => void process.stdout.write(`${line}\n`)

/** Whether this user may make such a namespace. @param {readonly string[]} flags */
export const mayUnshare = (flags) => spawnSync('unshare', [...flags, 'true']).status === 0

/** Whether a program is installed. @param {string} program */
export const isThere = (program) => spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0

/**
 * @typedef {{ programs?: string[], packages?: string[], devices?: string[], namespace?: readonly string[] }} Needs
 * @typedef {{ directory: string, start: typeof start, command: typeof command }} Stage
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const started = new Set()

/**
 * Starts a program, which ends with the example at the latest. Its output is read line by line.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [environment]
 */
function start(file, args, environment) {
  const child = spawn(file, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  const exited = once(child, 'exit').finally(() => started.delete(child))
  const program = { child, exited, output: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (/** @type {string} */ data) => {
      program.output += data
    })
  return program
}

/** Runs the command to its end, and returns what it has printed. @param {string[]} args */
async function command(...args) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`inotify-bridge ${args.join(' ')}: exit code ${code}`)
  return output
}

/**
 * Waits until something holds.
 *
 * @param {string} what
 * @param {() => boolean | Promise<boolean>} holds
 */
export async function until(what, holds) {
  const patience = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > patience) throw new Error(`this has not come about in 20 s: ${what}`)
    await sleep(10)
  }
}

/** A port of the loopback interface that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}

/** What a URL answers with; the status alone if it is not 200, and why if there is none. @param {string} url */
export async function textOf(url) {
  try {
    const response = await fetch(url, { headers: { connection: 'close' } })
    const body = await response.text()
    return response.status === 200 ? body : String(response.status)
  } catch (error) {
    return String(error)
  }
}

/**
 * Removes a directory in which what has just been killed may still make files. rmSync() lists it once, however often it tries again.
 *
 * @param {string} directory
 */
function removeForGood(directory) {
  const patience = performance.now() + 10_000
  while (existsSync(directory)) {
    try {
      rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      if (performance.now() > patience) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

/** @param {Needs} needs @returns {string | undefined} what is missing */
function missing({ programs = [], packages = [], devices = [], namespace }) {
  if (!existsSync(MAIN)) return 'it is not built (npm run build)'
  const program = programs.find((each) => !isThere(each))
  if (program !== undefined) return `${program} is not installed`
  const name = packages.find((each) => !isResolved(each))
  if (name !== undefined) return `${name} is not installed (npm ci; npm ci --prefix examples)`
  const device = devices.find((each) => !mayUse(each))
  if (device !== undefined) return `${device} may not be opened by this user`
  if (namespace !== undefined && !mayUnshare(namespace))
    return `'unshare ${namespace.join(' ')}' is not allowed here`
  return undefined
}

/** @param {string} name */
function isResolved(name) {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/** @param {string} device */
function mayUse(device) {
  try {
    accessSync(device, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Plays an example; 'skipped: ...' and exit code 0 where it cannot be played.
 *
 * @param {Needs} needs
 * @param {(stage: Stage) => Promise<void>} play
 */
export async function onStage(needs, play) {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  process.once('exit', () => {
    for (const child of started) child.kill('SIGKILL')
  })
  const inside = process.env.EXAMPLE_DIRECTORY
  if (inside !== undefined) {
    await play({ directory: inside, start, command })
    process.exit()
  }

  const lacks = missing(needs)
  if (lacks !== undefined) return say(`skipped: ${lacks}`)
  const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-example-'))
  process.once('exit', () => removeForGood(directory))
  if (needs.namespace === undefined) {
    await play({ directory, start, command })
    process.exit()
  }
  const child = spawn('unshare', [...needs.namespace, process.execPath, ...process.argv.slice(1)], {
    env: { ...process.env, EXAMPLE_DIRECTORY: directory },
    stdio: 'inherit',
  })
  started.add(child)
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
}
