import { fieldsOf, type Report, tell } from '../shared/output.ts'
import { type Answer, type ListenAddress, listenAt } from './listen.ts'
import { METRICS_TYPE, type Metrics, metricsText } from './metrics.ts'
import { ReadyFile } from './ready_file.ts'

/** The state of a command, from before it begins until after it has ended, for probes and metrics. */
export interface Status {
  /** The reason not to rely on it now; undefined: callers can rely on it. */
  readonly unready: string | undefined
  metrics(): Metrics
  /** To be called each time that `unready` may be another, or is seen to be the same still. The service sets it. */
  onTold?: () => void
}

interface ServiceSettings {
  readonly readyFile?: string | undefined
  readonly listen?: ListenAddress | undefined
}

/**
 * Tells others the state of a command, until disposed of: `--ready-file` and `--listen`. Both are set up, or have failed, before the command
 * begins. Disposal is idempotent: by a second call the ready file may be that of a successor, which has begun meanwhile.
 */
export async function startService(
  command: string,
  { readyFile, listen }: ServiceSettings,
  status: Status,
  report: Report,
): Promise<AsyncDisposable> {
  let file =
    readyFile === undefined ? undefined : new ReadyFile(readyFile, () => status.unready === undefined)
  status.onTold = () => file?.check()
  const endFile = () => {
    file?.[Symbol.dispose]()
    file = undefined
  }
  const listening = listen && listenAt(listen, routes(command, status), onceEach())
  // The file goes if there is nothing to listen on.
  const listener = await listening?.catch((error) => {
    endFile()
    throw error
  })
  if (listener !== undefined) report('listening', { url: listener.url }, `listening on ${listener.url}`)
  return {
    async [Symbol.asyncDispose]() {
      endFile()
      await listener?.[Symbol.asyncDispose]()
    },
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
