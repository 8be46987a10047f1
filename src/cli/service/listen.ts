import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { messageOf, printable } from '../../errors.ts'
import { option, UsageError } from '../shared/option.ts'
import { Connections, mostConnections } from './connections.ts'

export const LISTEN_OPTION = option(
  '[HOST:]PORT',
  'HTTP: /healthz (it answers), /readyz (503 and the reason while it is not ready), /metrics (Prometheus); port 0 is any that is free',
  listenAddress,
  { without: { once: 'which ends by itself' } },
)

/** The address to listen on. Without a host every address: a kubelet's probe comes to the pod's. */
export interface ListenAddress {
  readonly host: string | undefined
  readonly port: number
}

/** An answer to a GET. */
export interface Answer {
  readonly status: number
  readonly type?: string
  readonly body: string
}

/** Parses `PORT`, `HOST:PORT`, `[IPV6]:PORT`. */
function listenAddress(value: string, name: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(value) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65535) {
    const forms = 'PORT, HOST:PORT or [IPV6]:PORT with a port of at most 65535 (0: any that is free)'
    throw new UsageError(`${name} takes ${forms}; got '${printable(value)}'`)
  }
  return { host: bracketed ?? plain, port }
}

/** The time for a whole request, for its answer to be taken, and for the next request, in ms. A probe needs a few. */
const PATIENCE = 5000

/** The timeouts. By itself Node checks the first two once in 30 s. */
const TIMEOUTS = {
  headersTimeout: PATIENCE,
  requestTimeout: PATIENCE,
  keepAliveTimeout: PATIENCE,
  connectionsCheckingInterval: 1000,
}

/**
 * Listens, or throws one line that says why it cannot: a small HTTP server for probes and metrics. Anybody who can reach it may try to wear
 * it out. Returns its `http://127.0.0.1:40001` too.
 *
 * @param onError told of what keeps it from taking a connection (EMFILE); it goes on listening
 */
export async function listenAt(
  { host, port }: ListenAddress,
  routes: ReadonlyMap<string, () => Answer>,
  onError: (error: Error) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  // Loaded here: processes that do not listen do not pay the memory.
  const { createServer } = await import('node:http')
  const server = createServer(TIMEOUTS, (request, response) => answer(routes, request, response))
  server.setTimeout(PATIENCE)
  const connections = new Connections(mostConnections())
  server.on('connection', (socket: Socket) => connections.add(socket))
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
      server.closeAllConnections()
      await closed
    },
  }
}

function answer(
  routes: ReadonlyMap<string, () => Answer>,
  { method, url = '', socket }: IncomingMessage,
  response: ServerResponse,
): void {
  // Sent before an earlier answer had gone: a client that reads none could have thousands of answers kept.
  if (response.socket === null) return void socket.destroy()
  const route = routes.get(url.split('?')[0] ?? '')
  const { status, type, body }: Answer =
    route === undefined
      ? { status: 404, body: `there are ${[...routes.keys()].join(', ')}\n` }
      : method === 'GET' || method === 'HEAD'
        ? route()
        : { status: 405, body: 'GET or HEAD\n' }
  response.writeHead(status, {
    'content-type': type ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : body)
}
