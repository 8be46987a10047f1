import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { printable } from '../errors.ts'
import { UsageError } from './command.ts'

/** Where to listen. Without a host on every address: a kubelet's probe comes to the pod's. */
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

/** `PORT`, `HOST:PORT`, `[IPV6]:PORT`; undefined where the option is not given. */
export function listenAddressOf(value: string | undefined): ListenAddress | undefined {
  if (value === undefined) return undefined
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(value) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65535) {
    const forms = 'PORT, HOST:PORT or [IPV6]:PORT with a port of at most 65535 (0: any that is free)'
    throw new UsageError(`--listen takes ${forms}; got '${printable(value)}'`)
  }
  return { host: bracketed ?? plain, port }
}

/** A small HTTP server for probes and metrics. */
export class Listener implements AsyncDisposable {
  readonly #server: Server
  /** `http://127.0.0.1:40001` */
  readonly url: string

  private constructor(server: Server) {
    this.#server = server
    const address = server.address()
    if (address === null || typeof address === 'string') throw new TypeError('a server of TCP has an address')
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
    this.url = `http://${host}:${address.port}`
  }

  /** Listens, or throws one line that says why it cannot. */
  static async start(
    { host, port }: ListenAddress,
    routes: ReadonlyMap<string, () => Answer>,
  ): Promise<Listener> {
    // Loaded here: its memory is not for those who do not listen.
    const { createServer } = await import('node:http')
    const server = createServer((request, response) => answer(routes, request, response))
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host }, resolve)
      })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new Error(`--listen: ${printable(why)}; name an address of this host and a port that is free`, {
        cause: error,
      })
    }
    return new Listener(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    // A scraper keeps its connection.
    this.#server.closeAllConnections()
    await closed
  }
}

function answer(
  routes: ReadonlyMap<string, () => Answer>,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
): void {
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
