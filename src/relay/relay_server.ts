import { timingSafeEqual } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { CoalescedTask } from '../coalesced_task.ts'
import { type Change, pathsOf } from '../watch/report/change.ts'
import type { Watcher } from '../watch/watcher.ts'
import {
  ALIVE,
  ALIVE_MS,
  FrameReader,
  frame,
  GAP,
  HELLO,
  hello,
  hintFrames,
  MARK,
  numbered,
  REFUSED,
  readHello,
  SYNC,
  VERSION,
} from './frames.ts'

/** Bytes that may wait for a client that does not read. Beyond them hints are dropped, and the client is told so when it reads again. */
const MOST_WAITING = 1024 * 1024
/** ms that a client has for its HELLO. */
const PATIENCE_MS = 5000

/** Tells clients at which paths of a directory something has changed. It tells nothing of contents, and opens nothing for a client. */
export class RelayServer {
  readonly #watcher: Watcher<Buffer>
  readonly #directory: string
  readonly #token: string
  readonly #clients = new Set<Client>()
  /** Directories that are new, or have moved. No event tells of what comes and goes in a new one before its watch, and a client may have seen that. */
  #arrived = new Set<string>()
  readonly #settled = new CoalescedTask(() => this.#settle())
  #alive: NodeJS.Timeout | undefined

  /**
   * @param watcher watches the directory, absolute, and all below
   * @param token the one that clients must have
   */
  constructor(watcher: Watcher<Buffer>, directory: string, token: string) {
    this.#watcher = watcher
    this.#directory = directory
    this.#token = token
    watcher.on('changes', (changes) => this.#tell(changes))
  }

  /** The number of clients. */
  get size(): number {
    return this.#clients.size
  }

  /** Serves a client until the client ends. Rejects if the client is refused, since it has sent what no client sends. */
  async serve(from: Readable, to: Writable): Promise<void> {
    const client = new Client(to, () => this.#settled.run())
    const reader = new FrameReader()
    let impatience: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        impatience = setTimeout(() => reject(new Error(`no HELLO in ${PATIENCE_MS} ms`)), PATIENCE_MS)
        from.on('data', (chunk: Buffer) => {
          try {
            for (const { type, body } of reader.frames(chunk)) this.#take(client, type, body)
            if (this.#clients.has(client)) clearTimeout(impatience)
          } catch (error) {
            reject(error)
          }
        })
        from
          .on('end', resolve)
          .on('close', resolve)
          .on('error', () => {})
      })
    } catch (error) {
      from.removeAllListeners('data').resume()
      client.refuse((error as Error).message, () => from.destroy())
      throw error
    } finally {
      clearTimeout(impatience)
      this.#remove(client)
    }
  }

  /** Throws at what no client sends. */
  #take(client: Client, type: number, body: Buffer): void {
    const isKnown = this.#clients.has(client)
    if (type === HELLO) {
      // A serial line stays as one client follows another.
      this.#admit(body)
      this.#add(client)
      const greet = () => client.greet(this.#directory)
      this.#watcher.ready.then(() => this.#settled.run()).then(greet, greet)
    } else if (type === SYNC && body.length === 4 && isKnown) client.sync(body.readUInt32LE())
    else throw new Error(`a frame of the type ${type}, which no client sends`)
  }

  /** Throws if a client is not to be served. */
  #admit(body: Buffer): void {
    const { version, rest } = readHello(body)
    if (version !== VERSION)
      throw new Error(`the client speaks version ${version}, and this relay ${VERSION}`)
    const [given, wanted] = [Buffer.from(rest), Buffer.from(this.#token)]
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new Error("the client's INOTIFY_BRIDGE_RELAY_TOKEN is not this relay's")
  }

  #add(client: Client): void {
    this.#clients.add(client)
    this.#alive ??= setInterval(() => {
      for (const each of this.#clients) each.send([frame(ALIVE)])
    }, ALIVE_MS)
  }

  #remove(client: Client): void {
    this.#clients.delete(client)
    if (this.#clients.size > 0) return
    clearInterval(this.#alive)
    this.#alive = undefined
  }

  #tell(changes: ReadonlyArray<Change<Buffer>>): void {
    if (this.#clients.size === 0) return
    const prefix = Buffer.byteLength(this.#directory) + (this.#directory === '/' ? 0 : 1)
    const paths = new Set<string>()
    let hasGap = false
    for (const change of changes) {
      if (!('mask' in change)) {
        // No event has told of what came and went before. An overflow is followed by 'recovered'.
        hasGap ||= change.type !== 'overflow'
        continue
      }
      const hinted = pathsOf(change).map((path) => path.toString('latin1', prefix))
      for (const path of hinted) paths.add(path)
      if (bringsDirectory(change)) for (const path of hinted) this.#arrived.add(path)
    }
    const frames = hintFrames(paths)
    if (hasGap) frames.push(frame(GAP))
    for (const client of this.#clients) client.tell(frames)
    // If this fails, the watcher has been closed, or the next change tries again.
    if (this.#arrived.size > 0) this.#settled.run().catch(() => {})
  }

  /** Resolves when all changes made before the call have been told, and all in the directories that came with them. */
  async #settle(): Promise<void> {
    const arrived = this.#arrived
    this.#arrived = new Set()
    try {
      await this.#watcher.sync()
    } catch (error) {
      for (const path of arrived) this.#arrived.add(path)
      throw error
    }
    // Directories that came meanwhile may have been made before the call. The next run tells of them again, as they may not be watched yet.
    const frames = hintFrames([...arrived, ...this.#arrived].map((path) => `${path}/`))
    for (const client of this.#clients) client.tell(frames)
  }
}

function bringsDirectory(change: Change<Buffer>): boolean {
  if (change.type === 'exchange') return change.kind === 'directory' || change.otherKind === 'directory'
  return (change.type === 'create' || change.type === 'rename') && change.kind === 'directory'
}

/** One client of a {@link RelayServer}. */
class Client {
  readonly #to: Writable
  readonly #settle: () => Promise<void>
  #isGreeted = false
  // True: hints have been dropped.
  #hasGap = false
  #isSyncing = false
  #asked: number | undefined

  /** @param settle resolves when all changes made before the call have been told */
  constructor(to: Writable, settle: () => Promise<void>) {
    this.#to = to
    this.#settle = settle
    to.on('drain', () => this.#tellGap())
    // A client that has gone ends the loop that reads from it.
    to.on('error', () => {})
  }

  greet(directory: string): void {
    this.#isGreeted = true
    this.send([hello(directory)])
  }

  /** Sends hints, or a mark behind hints; before the greeting there is nothing to be told. */
  tell(frames: readonly Buffer[]): void {
    if (this.#isGreeted && !this.send(frames)) this.#hasGap = true
  }

  /** Returns false if the client has too much to read already. */
  send(frames: readonly Buffer[]): boolean {
    if (!this.#to.writable || this.#to.writableLength > MOST_WAITING) return false
    for (const each of frames) this.#to.write(each)
    return true
  }

  /** Sends a MARK when all changes up to now have been told. A later SYNC stands for those before. */
  sync(number: number): void {
    this.#asked = number
    if (!this.#isSyncing) void this.#sync()
  }

  async #sync(): Promise<void> {
    this.#isSyncing = true
    for (let number = this.#asked; number !== undefined; number = this.#asked) {
      this.#asked = undefined
      const isTold = await this.#settle().then(
        () => true,
        () => false,
      )
      // Before the mark, which says that no hint is missing.
      this.#tellGap()
      if (isTold) this.tell([numbered(MARK, number)])
    }
    this.#isSyncing = false
  }

  #tellGap(): void {
    if (this.#hasGap) this.#hasGap = !this.send([frame(GAP)])
  }

  /** Sends the reason, and calls back when the client has it, or has gone. */
  refuse(why: string, done: () => void): void {
    if (this.#to.writable) this.#to.end(frame(REFUSED, Buffer.from(why)), done)
    else done()
  }
}
