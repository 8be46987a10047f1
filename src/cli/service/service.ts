import { fieldsOf, type Report, tell } from '../shared/output.ts'
import { type ListenAddress, listenAt, type Routes } from './listen.ts'
import { type Metrics, metricsText } from './metrics.ts'
import { keepReadyFile } from './ready_file.ts'

/** The state of a command, from before it begins until after it has ended, for probes and metrics. */
export interface Status {
  /** The reason not to rely on it now; undefined: callers can rely on it. */
  readonly unready: string | undefined
  metrics(): Metrics
  /** To be called each time that `unready` may be another, or is seen to be the same still. The service sets it. */
  onTold?: () => void
}

/**
 * Tells others the state of a command, until disposed of: `--ready-file` and `--listen`. Both are set up, or have failed, before the command
 * begins. Disposal is idempotent.
 */
export async function startService(
  command: string,
  { readyFile, listen }: { readyFile?: string | undefined; listen?: ListenAddress | undefined },
  status: Status,
  report: Report,
): Promise<AsyncDisposable> {
  const file =
    readyFile === undefined ? undefined : keepReadyFile(readyFile, () => status.unready === undefined)
  status.onTold = () => file?.check()
  const routes: Routes = new Map([
    // An answer is all: a restart helps only a stuck process. Failures are retried anyhow; /readyz tells of them.
    ['/healthz', () => [200, 'ok\n']],
    ['/readyz', () => (status.unready === undefined ? [200, 'ok\n'] : [503, `${status.unready}\n`])],
    ['/metrics', () => [200, metricsText(command, status.metrics())]],
  ])
  const said = new Set<string>()
  const onError = (error: Error) => {
    const message = `--listen: a connection could not be taken: ${error.message}`
    // Once: a client that connects again and again would fill the log.
    if (!said.has(message)) tell(message, 'error', fieldsOf(error))
    said.add(message)
  }
  const listener = listen && (await listenAt(listen, routes, onError))
  if (listener !== undefined) report('listening', { url: listener.url }, `listening on ${listener.url}`)
  return {
    async [Symbol.asyncDispose]() {
      file?.[Symbol.dispose]()
      await listener?.[Symbol.asyncDispose]()
    },
  }
}
