import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/** A request of the guest: the name of an operation, and its parameters. */
export interface Request {
  id: number
  operation: string
  [parameter: string]: unknown
}

/** Carries a request out. Resolves to an object for the guest, if there is anything to answer. */
export type Answering = (request: Request) => Promise<unknown>

/** Returns the ms since the epoch, on the clock with which the guest calibrates its own. */
export const now = () => performance.timeOrigin + performance.now()

/** The host's end of the guest's second serial port: a line of JSON for each request and for each answer. */
export class Channel {
  readonly #server: Server
  readonly #answering: Answering
  #socket: Socket | undefined
  #rest = ''
  #listeners: Record<'ready' | 'exit', (value: number) => void> = { ready() {}, exit() {} }

  private constructor(server: Server, answering: Answering) {
    this.#server = server
    this.#answering = answering
    server.on('connection', (socket) => {
      this.#socket = socket
      socket.setEncoding('utf8')
      socket.on('data', (text: string) => this.#read(text))
      // The guest ends before its host does.
      socket.on('error', () => {})
    })
  }

  /** Listens where QEMU will connect. */
  static async listen(path: string, answering: Answering): Promise<Channel> {
    const server = createServer().listen(path)
    await once(server, 'listening')
    return new Channel(server, answering)
  }

  /** Resolves when the guest's init waits for scenarios. */
  ready(): Promise<number> {
    return new Promise((resolve) => {
      this.#listeners.ready = resolve
    })
  }

  /** Makes the guest run a scenario. Resolves to the exit code. */
  run(scenario: string, run: string): Promise<number> {
    const exited = new Promise<number>((resolve) => {
      this.#listeners.exit = resolve
    })
    this.#socket?.write(`${scenario} ${run}\n`)
    return exited
  }

  close(): void {
    this.#socket?.destroy()
    this.#server.close()
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line)
      if ('operation' in message) void this.#answer(message)
      else if ('ready' in message) this.#listeners.ready(0)
      else this.#listeners.exit(message.exit)
    }
  }

  async #answer(request: Request): Promise<void> {
    const began = now()
    const result = await this.#answering(request).then(Object, (error) => ({ error: String(error) }))
    this.#socket?.write(`${JSON.stringify({ ...result, id: request.id, began, ended: now() })}\n`)
  }
}
