import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { constants } from 'node:os'
import { InotifyError } from '../errors.ts'
import {
  ALIVE,
  FrameReader,
  GAP,
  HELLO,
  HINT,
  hello,
  hintedPaths,
  MARK,
  numbered,
  REFUSED,
  readHello,
  SYNC,
  VERSION,
} from './frames.ts'

/** ms between polls while a relay tells of changes: a relay of another directory, say, tells of none. */
export const RELAYED_MS = 30_000
/** ms without a word, after which a relay counts as gone. */
const SILENCE_MS = 3000
/** ms from the end of a connection to the next try. */
const RETRY_MS = 1000

/** Bytes of a relay's reason that an error repeats. */
const MOST_REASON = 200

const SILENT = Object.assign(new Error(`it has been silent for ${SILENCE_MS} ms`), { code: 'ETIMEDOUT' })

/** The owner of a {@link RelayClient}. */
export interface RelayListener {
  /** The relay is there, or hints have been dropped: anything may have changed before. Hints follow of all that changes from now on. */
  gap(): void
  /** Something has changed at these paths below the relay's directory, which are keys (name_key.ts). The relay is not read before the promise resolves. */
  hints(paths: readonly string[]): Promise<void>
  /** There is no relay, or no more. Called once for each time that a relay goes. */
  lost(error: InotifyError): void
}

/** Listens to a relay, and connects again and again while there is none. It keeps no process alive. */
export class RelayClient {
  readonly #to: NetConnectOpts
  readonly #name: string
  readonly #token: string
  readonly #listener: RelayListener
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false
  // True: the listener knows that there is no relay.
  #isLost = false
  #marked: ((isMarked: boolean) => void) | undefined
  #number = 0

  constructor(to: NetConnectOpts, token: string, listener: RelayListener) {
    this.#to = to
    this.#name = 'path' in to ? `unix:${to.path}` : `tcp:${to.host}:${to.port}`
    this.#token = token
    this.#listener = listener
    void this.#connect()
  }

  /** Resolves with true when the listener has the hints of all changes made before the call; false: the relay has gone meanwhile. One call at a time. */
  sync(): Promise<boolean> {
    if (this.#socket === undefined) return Promise.resolve(false)
    this.#number = (this.#number + 1) % 2 ** 32
    this.#socket.write(numbered(SYNC, this.#number))
    return new Promise((resolve) => {
      this.#marked = resolve
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#socket?.destroy()
    this.#socket = undefined
    this.#end(false)
  }

  async #connect(): Promise<void> {
    let socket: Socket | undefined
    try {
      socket = connect(this.#to).unref()
      this.#socket = socket
      socket.write(hello(this.#token))
      await this.#read(socket)
      this.#lose('ECONNRESET', 'the relay has ended')
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.#lose(code ?? 'EPROTO', message)
    }
    socket?.destroy()
    this.#socket = undefined
    this.#end(false)
    if (!this.#isClosed) this.#retry = setTimeout(() => void this.#connect(), RETRY_MS).unref()
  }

  /** Resolves at the end of the connection. Rejects if the connection fails, or if a relay would not have sent this. */
  async #read(socket: Socket): Promise<void> {
    const reader = new FrameReader()
    let chunks = 0
    const listen = () =>
      setTimeout(() => {
        const before = chunks
        // In the turn between, what has come while this process was busy is read.
        setImmediate(() => {
          if (chunks === before) socket.destroy(SILENT)
        })
      }, SILENCE_MS).unref()
    let silence = listen()
    try {
      for await (const chunk of socket) {
        // While the listener looks at hints, nothing is read.
        clearTimeout(silence)
        chunks++
        // Hints in a row are looked at together: each look at a directory with 100,000 entries goes through all of them.
        const hinted: string[] = []
        const look = async () => {
          if (hinted.length > 0 && !this.#isClosed) await this.#listener.hints(hinted.splice(0))
        }
        for (const { type, body } of reader.frames(chunk as Buffer)) {
          if (type === HINT) for (const path of hintedPaths(body)) hinted.push(path)
          else {
            await look()
            if (this.#isClosed) return
            this.#take(type, body)
          }
        }
        await look()
        silence = listen()
      }
    } finally {
      clearTimeout(silence)
    }
  }

  #take(type: number, body: Buffer): void {
    if (type === ALIVE) return
    if (type === MARK) {
      if (body.length === 4 && body.readUInt32LE() === this.#number) this.#end(true)
      return
    }
    if (type === REFUSED)
      throw Object.assign(new Error(body.toString('utf8', 0, MOST_REASON)), { code: 'EACCES' })
    if (type === HELLO) {
      const { version } = readHello(body)
      if (version !== VERSION) throw new Error(`it speaks version ${version}, and this ${VERSION}`)
      this.#isLost = false
    } else if (type !== GAP) throw new Error(`a frame of the type ${type}, which no relay sends`)
    // The mark may be among what was dropped.
    this.#end(false)
    this.#listener.gap()
  }

  #end(isMarked: boolean): void {
    this.#marked?.(isMarked)
    this.#marked = undefined
  }

  #lose(code: string, why: string): void {
    if (this.#isClosed || this.#isLost) return
    this.#isLost = true
    const hint = `${why}; until there is a relay, polls tell of changes: inotify-bridge relay DIR --listen ${this.#name}`
    const errno = code in constants.errno ? (code as keyof typeof constants.errno) : 'EPROTO'
    this.#listener.lost(new InotifyError({ errno, syscall: 'relay', path: this.#name, hint }))
  }
}
