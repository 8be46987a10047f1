import { printable } from '../errors.ts'
import { type Answer, Listener } from './listen.ts'
import { METRICS_TYPE, metricsText } from './mirror_metrics.ts'
import type { MirrorArguments } from './mirror_options.ts'
import type { MirrorStatus } from './mirror_status.ts'
import { tell } from './output.ts'
import { ReadyFile } from './ready_file.ts'

/** What tells others how a mirror fares: `--ready-file` and `--listen`. Both are there, or have failed, before it starts. */
export class MirrorService implements AsyncDisposable {
  readonly #status: MirrorStatus
  readonly #file: ReadyFile | undefined
  readonly #listener: Listener | undefined
  readonly #onReady = (ready: boolean) => this.#setFile(ready)

  private constructor(status: MirrorStatus, file: ReadyFile | undefined, listener: Listener | undefined) {
    this.#status = status
    this.#file = file
    this.#listener = listener
    status.on('ready', this.#onReady)
  }

  static async start(
    { readyFile, listen, sources, target }: MirrorArguments,
    status: MirrorStatus,
  ): Promise<MirrorService> {
    const file = readyFile === undefined ? undefined : readyFileAt(readyFile)
    try {
      const listener = listen && (await Listener.start(listen, routes(status, sources, target)))
      return new MirrorService(status, file, listener)
    } catch (error) {
      file?.[Symbol.dispose]()
      throw error
    }
  }

  /** Where it listens, if it does. */
  get url(): string | undefined {
    return this.#listener?.url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#status.off('ready', this.#onReady)
    this.#file?.[Symbol.dispose]()
    await this.#listener?.[Symbol.asyncDispose]()
  }

  #setFile(ready: boolean): void {
    try {
      this.#file?.set(ready)
    } catch (error) {
      // The mirror goes on: it is tried again when the state is another.
      tell('mirror', `--ready-file: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

function routes(
  status: MirrorStatus,
  sources: readonly string[],
  target: string,
): ReadonlyMap<string, () => Answer> {
  return new Map<string, () => Answer>([
    // That it answers is all: to be restarted helps a process that is stuck. A source or a target that fails is tried again at
    // each pass anyhow, and /readyz tells of it.
    ['/healthz', () => ({ status: 200, body: 'ok\n' })],
    [
      '/readyz',
      () => {
        const { unready } = status
        return unready === undefined ? { status: 200, body: 'ok\n' } : { status: 503, body: `${unready}\n` }
      },
    ],
    ['/metrics', () => ({ status: 200, type: METRICS_TYPE, body: metricsText(status, sources, target) })],
  ])
}

function readyFileAt(path: string): ReadyFile {
  try {
    return new ReadyFile(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`--ready-file: ${printable(why)}; name a file in a directory that can be written`, {
      cause: error,
    })
  }
}
