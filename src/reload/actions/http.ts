import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { printable } from '../../errors.ts'
import type { Form } from '../options.ts'
import { type ActionContext, failureWith, OUTPUT_BYTES } from './action.ts'

/** Asks for a URL, with the bytes of a body, if there is one. A redirect is a failure: a POST would go on as a GET. */
export async function requestUrl(
  { url, method = 'POST', headers = {} }: Form<'http'>['http'],
  { signal }: ActionContext,
  body: Buffer | undefined,
): Promise<void> {
  const target = new URL(url)
  await succeed(`${method} ${shown(target)}`, target, { method, headers, signal, body }, (response) => {
    const { location } = response.headers
    const to = location !== undefined && URL.canParse(location, url) ? new URL(location, url) : undefined
    // In a URL of another scheme everything may be path, and secret.
    const isShown = to !== undefined && /^https?:$/.test(to.protocol)
    return ` ${printable(response.statusMessage ?? '')}${isShown ? `, to ${shown(to)}: name that URL` : ''}`
  })
}

/**
 * Sends one request. Only a status of 200 to 299 is success, else throws an error with the beginning of the answer. Not by fetch(), which refuses the ports that a browser must not be
 * lured to, 6000 and 10080 among them, and takes no certificate of an authority.
 *
 * @param asked the request in words, without what may be secret
 * @param hintOf returns what follows the status in the message
 */
export async function succeed(
  asked: string,
  url: URL,
  { body, ...options }: RequestOptions & { signal: AbortSignal; body: string | Buffer | undefined },
  hintOf: (response: IncomingMessage) => string,
): Promise<void> {
  let [answer, refusal] = [Buffer.alloc(0), '']
  try {
    // Loaded here: these modules bring the network with them, which users of the raw events do not need.
    const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http')
    // No agent: the other side may have closed a kept connection since.
    const sent: ClientRequest = request(url, { ...options, agent: false }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    for (const each of [sent, response]) each.on('error', () => {})
    const { statusCode = 0 } = response
    // Success, whatever becomes of the body: a wait for an endless body would repeat the request for ever.
    if (statusCode >= 200 && statusCode < 300) return void response.destroy()
    for await (const chunk of response) {
      answer = Buffer.concat([answer, chunk]).subarray(0, OUTPUT_BYTES)
      // Does not wait for the rest, which the iterator's end destroys.
      if (answer.length === OUTPUT_BYTES) break
    }
    refusal = `${asked} was answered with ${statusCode}${hintOf(response)}`
  } catch (error) {
    const { signal } = options
    throw new Error(`${asked} ${signal.aborted ? signal.reason.message : `failed: ${causeOf(error)}`}`)
  }
  throw failureWith(answer, refusal)
}

/** Returns a URL without the parts that may be secret. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

function causeOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  // An AggregateError of several addresses has no message but theirs.
  const text = message || (error instanceof AggregateError ? error.errors.map(String).join('; ') : '')
  return printable(code === undefined || text.includes(code) ? text : `${code}: ${text}`)
}
