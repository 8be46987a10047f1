import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'

/** All of stdin. Rejects when the signal aborts: what has come by then is no whole. */
export async function readStdin(signal: AbortSignal): Promise<Buffer> {
  try {
    return await buffer(addAbortSignal(signal, process.stdin))
  } catch (error) {
    throw signal.aborted ? new Error('interrupted before stdin had ended: nothing was published') : error
  }
}
