import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { printable } from '../../errors.ts'
import { ActionError, OUTPUT_BYTES } from '../failure.ts'
import type { Action } from './action.ts'

export interface HttpRequest {
  url: string
  method?: string
  headers?: Record<string, string>
}

/**
 * Asks for an URL. Only a status of 200 to 299 is success: a POST that is redirected would go on as a GET. Not by fetch(), which refuses the
 * ports that a browser must not be lured to: 6000, 10080.
 */
export function requestUrl({ url, method = 'POST', headers = {} }: HttpRequest): Action {
  const target = new URL(url)
  const asked = `${method} ${shown(target)}`
  return async ({ limit }) => {
    try {
      const response = await send(target, { method, headers, signal: limit.signal })
      const { statusCode = 0, statusMessage = '' } = response
      // Success, whatever becomes of the body: a wait for an endless body would repeat the request for ever.
      if (statusCode >= 200 && statusCode < 300) return void response.destroy()
      const body = await beginningOf(response)
      const to = redirection(response, url)
      const hint = to === undefined ? '' : `, to ${to}: name that URL`
      throw new ActionError(
        `${asked} was answered with ${statusCode} ${printable(statusMessage)}${hint}`,
        body,
      )
    } catch (error) {
      if (error instanceof ActionError) throw error
      if (limit.expired) throw new ActionError(`${asked} timed out after ${limit.ms} ms`)
      throw new ActionError(`${asked} failed: ${printable(causeOf(error))}`)
    }
  }
}

async function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  // Loaded here: these modules bring the network with them, which users of the raw events do not need.
  const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http')
  // No agent: the other side may have closed a kept connection since.
  const sent: ClientRequest = request(url, { ...options, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  for (const each of [sent, response]) each.on('error', () => {})
  return response
}

/** Returns a URL without the parts that may be secret. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

/** Returns the URL of a redirection; undefined if the response names none that could be asked for. */
function redirection({ headers: { location: to } }: IncomingMessage, url: string): string | undefined {
  if (to === undefined || !URL.canParse(to, url)) return undefined
  const target = new URL(to, url)
  // In a URL of another scheme everything may be path, and secret.
  return /^https?:$/.test(target.protocol) ? shown(target) : undefined
}

/** Returns the beginning of the body; does not wait for the rest. */
async function beginningOf(body: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // The iterator's end, early too, destroys the rest.
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= OUTPUT_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, OUTPUT_BYTES).toString()
}

/** Returns the reason of a failure: fetch(), which a client may use, says 'fetch failed', and the reason in the cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  // An AggregateError of several addresses has no message but theirs.
  const message =
    cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : '')
  return message.includes(code) ? message : `${code}: ${message}`
}
