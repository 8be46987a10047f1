import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf, printable } from '../../errors.ts'
import { option, wrongValue } from '../shared/option.ts'
import { limitConnections } from './connections.ts'

export const LISTEN_OPTION = option(
  '[HOST:]PORT',
  'HTTP: /healthz (it answers), /readyz (503 and the reason while it is not ready), /metrics (Prometheus); port 0 is any that is free',
  listenAddress,
  { without: { once: 'which ends by itself' } },
)

/** The address to listen on. Without a host every address: a kubelet's probe comes to the pod's. */
export type ListenAddress = ReturnType<typeof listenAddress>

/** The answers to a GET, by path: a status and a text. */
export type Routes = ReadonlyMap<string, () => readonly [status: number, body: string]>

/** Parses `PORT`, `HOST:PORT`, `[IPV6]:PORT`. */
function listenAddress(value: string, name: string) {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(value) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65535) {
    const forms = 'PORT, HOST:PORT or [IPV6]:PORT with a port of at most 65535 (0: any that is free)'
    throw wrongValue(name, forms, value)
  }
  return { host: bracketed ?? plain, port }
}

/** The time for a whole request, for its answer to be taken, and for the next request, in ms. A probe needs a few. */
const PATIENCE = 5000

/**
 * Listens, or throws one line that says why it cannot: a small HTTP server for probes and metrics. Anybody who can reach it may try to wear
 * it out. Returns its `http://127.0.0.1:40001` too.
 *
 * @param onError told of what keeps it from taking a connection (EMFILE); it goes on listening
 */
export async function listenAt(
  { host, port }: ListenAddress,
  routes: Routes,
  onError: (error: Error) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  // Loaded here: processes that do not listen do not pay the memory.
  const { createServer } = await import('node:http')
  const { limitsOf } = await import('../../reload/actions/open_files.ts')
  const timeouts = { headersTimeout: PATIENCE, requestTimeout: PATIENCE, keepAliveTimeout: PATIENCE }
  // By itself Node checks the first two once in 30 s.
  const options = { ...timeouts, connectionsCheckingInterval: 1000 }
  const server = createServer(options, (request, response) => answer(routes, request, response))
  server.setTimeout(PATIENCE)
  const endConnections = limitConnections(server, limitsOf('self').soft)
  try {
    server.listen({ port, host })
    await once(server, 'listening')
  } catch (error) {
    const why = messageOf(error)
    throw new Error(`--listen: ${printable(why)}; name an address of this host and a port that is free`, {
      cause: error,
    })
  }
  server.on('error', onError)
  const { family, address, port: taken } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // A scraper keeps its connection open.
      endConnections()
      await closed
    },
  }
}

function answer(
  routes: Routes,
  { method, url = '', socket }: IncomingMessage,
  response: ServerResponse,
): void {
  // Sent before an earlier answer had gone: a client that reads none could have thousands of answers kept.
  if (response.socket === null) return void socket.destroy()
  const route = routes.get(url.split('?')[0] ?? '')
  const isRead = method === 'GET' || method === 'HEAD'
  const refused = isRead ? undefined : ([405, 'GET or HEAD\n'] as const)
  const [status, body] = route ? (refused ?? route()) : [404, `there are ${[...routes.keys()].join(', ')}\n`]
  response.writeHead(status, {
    // The version is of Prometheus' text format, which is text to all others.
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : body)
}
