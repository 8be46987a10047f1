import { messageOf, printable } from '../../errors.ts'
import { fieldsOf, tell } from '../shared/output.ts'
import { type Answer, type ListenAddress, Listener } from './listen.ts'
import { METRICS_TYPE } from './metrics.ts'
import { ReadyFile } from './ready_file.ts'
import type { Status } from './status.ts'

export interface ServiceOptions {
  /** The command that it is part of. */
  readonly command: string
  readonly readyFile?: string | undefined
  readonly listen: ListenAddress | undefined
  readonly status: Status
  /** What `GET /metrics` answers. */
  metrics(): string
}

/** ms between two looks at whether another has laid a ready file while the command is not ready: until the first pass is over nothing is told. */
const FORGED_INTERVAL = 1000

/** What tells others how a command fares: `--ready-file` and `--listen`. Both are there, or have failed, before it begins. */
export class Service implements AsyncDisposable {
  readonly #command: string
  readonly #status: Status
  readonly #file: ReadyFile | undefined
  readonly #listener: Listener | undefined
  readonly #onTold = (ready: boolean) => {
    this.#onFile((file) => file.set(ready))
    this.#guard(!ready)
  }
  // What is wrong with the file, until it is not.
  #trouble = ''
  #timer: NodeJS.Timeout | undefined
  #ending: Promise<void> | undefined

  private constructor(
    { command, status }: ServiceOptions,
    file: ReadyFile | undefined,
    listener: Listener | undefined,
  ) {
    this.#command = command
    this.#status = status
    this.#file = file
    this.#listener = listener
    status.on('told', this.#onTold)
    this.#guard(true)
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const { readyFile, listen } = options
    const file = readyFile === undefined ? undefined : readyFileAt(readyFile)
    try {
      const listener = listen && (await Listener.start(listen, routes(options), onceEach(options.command)))
      return new Service(options, file, listener)
    } catch (error) {
      file?.[Symbol.dispose]()
      throw error
    }
  }

  /** Where it listens, if it does. */
  get url(): string | undefined {
    return this.#listener?.url
  }

  /** Idempotent: a file that is there by the second call is a successor's, which has begun meanwhile. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    this.#status.off('told', this.#onTold)
    this.#guard(false)
    // What has become of it is no reason for the command not to end as it should.
    this.#onFile((file) => file[Symbol.dispose]())
    await this.#listener?.[Symbol.asyncDispose]()
  }

  /** Looks for a forged file, or does not any more: a command that is ready is not woken up for it. */
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
      // The command goes on, and tries it again when it is told the next time.
      const trouble = `--ready-file: ${messageOf(error)}`
      if (trouble !== this.#trouble) tell(this.#command, trouble, 'error', fieldsOf(error))
      this.#trouble = trouble
    }
  }
}

/** Whoever connects again and again would fill the log with it. */
function onceEach(command: string): (error: Error) => void {
  const said = new Set<string>()
  return (error) => {
    const message = `--listen: a connection could not be taken: ${error.message}`
    if (!said.has(message)) tell(command, message, 'error', fieldsOf(error))
    said.add(message)
  }
}

function routes({ status, metrics }: ServiceOptions): ReadonlyMap<string, () => Answer> {
  return new Map<string, () => Answer>([
    // That it answers is all: to be restarted helps a process that is stuck. What fails is tried again anyhow, and /readyz tells of it.
    ['/healthz', () => ({ status: 200, body: 'ok\n' })],
    [
      '/readyz',
      () => {
        const { unready } = status
        return unready === undefined ? { status: 200, body: 'ok\n' } : { status: 503, body: `${unready}\n` }
      },
    ],
    ['/metrics', () => ({ status: 200, type: METRICS_TYPE, body: metrics() })],
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
