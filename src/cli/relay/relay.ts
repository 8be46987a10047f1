import { once } from 'node:events'
import { lstatSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type NetConnectOpts, type Server } from 'node:net'
import { resolve } from 'node:path'
import { aborted } from 'node:util'
import { messageOf, printable } from '../../errors.ts'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import { relayAddress, relayToken } from '../../relay/address.ts'
import { RelayServer } from '../../relay/relay_server.ts'
import { limitsOf } from '../../reload/actions/open_files.ts'
import { watch } from '../../watch/calls.ts'
import { provideEngine } from '../../watch/engine_part.ts'
import { openEngine } from '../../watch/open_engine.ts'
import { limitConnections } from '../service/connections.ts'
import { type Command, parse } from '../shared/command.ts'
import { JSON_OPTION, option, passing, UsageError } from '../shared/option.ts'
import { reportOnStderr, tell } from '../shared/output.ts'
import { reportProgress } from '../shared/progress.ts'

/** Standard input and output are the one client. */
const STDIO = '-'

const OPTIONS = {
  listen: option(
    'ADDRESS',
    `unix:PATH; tcp:HOST:PORT, beyond loopback with a token; ${STDIO}: the one client has standard input and output, for ssh, docker exec and socat`,
    passing((text, name) => text === STDIO || relayAddress(text, name)),
  ),
  json: JSON_OPTION,
} as const

export const relayCommand: Command = {
  summary: 'tell guests and containers where a directory of this host has changed',
  usage: ['--listen ADDRESS DIR'],
  about: `Watches DIR, and tells each client at which paths something has changed. A client is 'inotify-bridge watch --relay ADDRESS', or
watch() with the option relay, in a guest or a container that sees DIR by a mount without events: it then tells of changes within
milliseconds, and polls twice a minute. So do 'mirror --relay' and 'run --relay'. Clients learn names and no contents. They look for themselves: a wrong name costs a look.`,
  options: OPTIONS,
  notes: `Whoever may write to a unix socket learns the names in DIR. A socket that a killed run has left is replaced.

Exit code: 0 done, 1 failed, 2 wrong usage.

Environment: INOTIFY_BRIDGE_RELAY_TOKEN, the same on both sides; INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL.`,
  examples: [
    'inotify-bridge relay --listen unix:/run/project.relay /srv/project',
    'INOTIFY_BRIDGE_RELAY_TOKEN=$(cat token) inotify-bridge relay --listen tcp:0.0.0.0:7000 /srv/project',
    "socat VSOCK-LISTEN:7000,fork EXEC:'inotify-bridge relay --listen - /srv/project'",
  ],
  printsLog: true,
  async run(args, signal) {
    const settings = readRelayArguments(args)
    if (!statSync(settings.directory).isDirectory())
      throw new UsageError(
        `'${printable(settings.directory)}' is no directory: name the one that clients watch`,
      )
    return await relay({ ...settings, directory: resolve(settings.directory) }, signal)
  },
}

export function readRelayArguments(args: readonly string[]) {
  const { values, words } = parse(args, OPTIONS)
  const [directory = '', ...others] = words
  if (directory === '' || others.length > 0) throw new UsageError('name one DIR')
  const { listen: address } = values
  if (address === undefined) throw new UsageError('say by --listen where clients come')
  const socket = address === STDIO ? undefined : relayAddress(address, '--listen')
  if (relayToken() === '' && socket !== undefined && 'host' in socket && !isLoopback(socket.host ?? ''))
    throw new UsageError(
      `${address} is beyond loopback: set INOTIFY_BRIDGE_RELAY_TOKEN, here and for the clients`,
    )
  return { directory, address, socket }
}

/** Reasons to turn a client away that are told, each once. */
const MOST_SAID = 20

type RelayArguments = ReturnType<typeof readRelayArguments>

async function relay({ directory, address, socket }: RelayArguments, signal: AbortSignal): Promise<number> {
  provideEngine(openEngine)
  const options = { recursive: true, encoding: 'buffer', settle: 0, signal } as const
  await using watcher = watch(directory, options)
  watcher.on('error', (error) => tell(error))
  const progress = () =>
    `watching ${watcher.coverage().reduce((sum, { directories }) => sum + directories, 0)} directories`
  const endProgress = reportProgress(progress)
  const relayed = new RelayServer(watcher, directory, relayToken())
  const watched = watcher.ready.finally(endProgress)
  if (socket === undefined) {
    signal.addEventListener('abort', () => process.stdin.destroy(), { once: true })
    await Promise.all([watched, relayed.serve(process.stdin, process.stdout)])
    return 0
  }
  const said = new Set<string>()
  const server = createServer((client) => {
    relayed.serve(client, client).catch((error) => {
      const message = `a client was turned away: ${messageOf(error)}`
      // A client connects again and again, and may choose the numbers in the message.
      if (said.size < MOST_SAID && !said.has(message)) tell(message, 'warning')
      if (said.size < MOST_SAID) said.add(message)
    })
  })
  const endConnections = limitConnections(server, limitsOf('self').soft)
  try {
    await listen(server, socket, address)
    // A connection that could not be taken (EMFILE); others are.
    server.on('error', (error) => tell(error))
    const ended = aborted(signal, server)
    await watched
    reportOnStderr('listening', { address, path: directory }, `listening on ${address}, for ${directory}`)
    await ended
    return 0
  } finally {
    server.close()
    endConnections()
  }
}

async function listen(server: Server, socket: NetConnectOpts, address: string): Promise<void> {
  const begin = () => once(server.listen(socket), 'listening')
  try {
    await begin().catch(async (error) => {
      if (codeOf(error) !== 'EADDRINUSE' || !('path' in socket) || !(await isLeft(socket.path))) throw error
      rmSync(socket.path)
      await begin()
    })
  } catch (cause) {
    const why = messageOf(cause)
    const remedy = 'name an address of this host that is free'
    throw new Error(`--listen ${printable(address)}: ${why}; ${remedy}`, { cause })
  }
}

/** Returns true for a socket at which nobody listens. A file that is no socket refuses connections, too. */
async function isLeft(path: string): Promise<boolean> {
  if (!lstatSync(path).isSocket()) return false
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
