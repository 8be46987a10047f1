import { printable } from '../../errors.ts'
import { ActionError, OUTPUT_BYTES } from '../failure.ts'
import type { Action } from './action.ts'
import { TimeLimit } from './time_limit.ts'

export interface HttpRequest {
  url: string
  method?: string
  headers?: Record<string, string>
}

/** Asks for an URL. Only a status of 200 to 299 is success: a POST that is redirected would go on as a GET. */
export function requestUrl({ url, method = 'POST', headers = {} }: HttpRequest): Action {
  const asked = `${method} ${shown(new URL(url))}`
  return async ({ timeout, signal }) => {
    using limit = new TimeLimit(timeout, signal)
    try {
      const response = await fetch(url, { method, headers, redirect: 'manual', signal: limit.signal })
      if (response.ok) {
        // It is done, whatever becomes of the body: to wait for one that does not end would be to do it again and again.
        await response.body?.cancel()
        return
      }
      const body = await beginningOf(response)
      const to = redirection(response, url)
      const hint = to === undefined ? '' : `, to ${to}: name that URL`
      throw new ActionError(
        `${asked} was answered with ${response.status} ${printable(response.statusText)}${hint}`,
        body,
      )
    } catch (error) {
      if (error instanceof ActionError) throw error
      if (limit.expired) throw new ActionError(`${asked} timed out after ${timeout} ms`)
      throw new ActionError(`${asked} failed: ${printable(causeOf(error))}`)
    }
  }
}

/** Whatever else is in it may be a secret. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

/** Where it says that the client should go instead; undefined if it names nothing that could be asked. */
function redirection({ headers }: Response, url: string): string | undefined {
  const to = headers.get('location')
  if (to === null || !URL.canParse(to, url)) return undefined
  const target = new URL(to, url)
  // All that there is of another scheme may be its path.
  return /^https?:$/.test(target.protocol) ? shown(target) : undefined
}

/** What the body begins with; the rest is not waited for. */
async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // The iterator's end, early too, cancels the rest.
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= OUTPUT_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, OUTPUT_BYTES).toString()
}

/** fetch says 'fetch failed', and why it did in the cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const code = 'code' in cause ? String(cause.code) : ''
  // Of several addresses that were tried there is no message but theirs.
  const message =
    cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : '')
  return message.includes(code) ? message : `${code}: ${message}`
}
