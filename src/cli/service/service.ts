import { messageOf, printable } from '../../errors.ts'
import { fieldsOf, tell } from '../shared/output.ts'
import { type Answer, type ListenAddress, Listener } from './listen.ts'
import { METRICS_TYPE, metricsText } from './metrics.ts'
import { ReadyFile } from './ready_file.ts'
import type { Report } from './report.ts'
import type { Status } from './status.ts'

interface ServiceSettings {
  readonly readyFile?: string | undefined
  readonly listen?: ListenAddress | undefined
}

/** The ms between two checks for a ready file that another user has laid before the command is ready: nothing is told until the first pass is over. */
const FORGED_INTERVAL = 1000

/** Tells others the state of a command: `--ready-file` and `--listen`. Both are set up, or have failed, before the command begins. */
export class Service implements AsyncDisposable {
  readonly #status: Status
  readonly #file: ReadyFile | undefined
  readonly #listener: Listener | undefined
  readonly #onTold = (ready: boolean) => {
    this.#onFile((file) => file.set(ready))
    this.#guard(!ready)
  }
  // The trouble with the ready file; '' for none.
  #trouble = ''
  #timer: NodeJS.Timeout | undefined
  #ending: Promise<void> | undefined

  private constructor(status: Status, file: ReadyFile | undefined, listener: Listener | undefined) {
    this.#status = status
    this.#file = file
    this.#listener = listener
    status.on('told', this.#onTold)
    this.#guard(true)
  }

  static async start(
    command: string,
    { readyFile, listen }: ServiceSettings,
    status: Status,
    report: Report,
  ): Promise<Service> {
    const file = readyFile === undefined ? undefined : readyFileAt(readyFile)
    try {
      const listener = listen && (await Listener.start(listen, routes(command, status), onceEach()))
      if (listener !== undefined) report('listening', { url: listener.url }, `listening on ${listener.url}`)
      return new Service(status, file, listener)
    } catch (error) {
      file?.[Symbol.dispose]()
      throw error
    }
  }

  /** Ends the service. Idempotent: by a second call the ready file may be that of a successor, which has begun meanwhile. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    this.#status.off('told', this.#onTold)
    this.#guard(false)
    // The command ends as it should whatever has become of the file.
    this.#onFile((file) => file[Symbol.dispose]())
    await this.#listener?.[Symbol.asyncDispose]()
  }

  /** Starts or stops the checks for a forged file. Stopped while the command is ready, so that the process is not woken up. */
  #guard(isOn: boolean): void {
    if (this.#file === undefined || isOn === (this.#timer !== undefined)) return
    clearInterval(this.#timer)
    const remove = () => this.#onFile((file) => file.set(false))
    this.#timer = isOn ? setInterval(remove, FORGED_INTERVAL).unref() : undefined
  }

  #onFile(act: (file: ReadyFile) => void): void {
    try {
      if (this.#file !== undefined) act(this.#file)
      this.#trouble = ''
    } catch (error) {
      // The command goes on, and tries the file again when it is told the next time.
      const trouble = `--ready-file: ${messageOf(error)}`
      if (trouble !== this.#trouble) tell(trouble, 'error', fieldsOf(error))
      this.#trouble = trouble
    }
  }
}

/** Tells each error once: a client that connects again and again would fill the log. */
function onceEach(): (error: Error) => void {
  const said = new Set<string>()
  return (error) => {
    const message = `--listen: a connection could not be taken: ${error.message}`
    if (!said.has(message)) tell(message, 'error', fieldsOf(error))
    said.add(message)
  }
}

function routes(command: string, status: Status): ReadonlyMap<string, () => Answer> {
  return new Map<string, () => Answer>([
    // An answer is all: a restart helps only a stuck process. Failures are retried anyhow; /readyz tells of them.
    ['/healthz', () => ({ status: 200, body: 'ok\n' })],
    [
      '/readyz',
      () => {
        const { unready } = status
        return unready === undefined ? { status: 200, body: 'ok\n' } : { status: 503, body: `${unready}\n` }
      },
    ],
    ['/metrics', () => ({ status: 200, type: METRICS_TYPE, body: metricsText(command, status.metrics()) })],
  ])
}

function readyFileAt(path: string): ReadyFile {
  try {
    return new ReadyFile(path)
  } catch (error) {
    const why = messageOf(error)
    throw new Error(`--ready-file: ${printable(why)}; name a file in a directory that can be written`, {
      cause: error,
    })
  }
}
