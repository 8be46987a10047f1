import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

/** Debian's names of Chromium. */
export const CHROMIUM = ['chromium-headless-shell', 'chromium'].find(
  (name) => spawnSync(name, ['--version']).error === undefined,
)

interface Answer {
  id?: number
  error?: { message: string }
  result?: Record<string, unknown>
}

/** A page of a browser, spoken to by the DevTools protocol over a pipe: messages are JSON, each ended by a NUL. */
export class Page {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #session: string | undefined
  #messages = 0

  private constructor(program: string, directory: string) {
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe']
    this.#process = spawn(program, [...flags, `--user-data-dir=${directory}`], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    })
    let text = ''
    const answers = this.#process.stdio[4] as Readable
    answers.setEncoding('utf8').on('data', (part: string) => {
      const messages = (text + part).split('\0')
      text = messages.pop() ?? ''
      for (const message of messages) {
        const answer: Answer = JSON.parse(message)
        if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer)
      }
    })
  }

  /** @param directory for what the browser keeps */
  static async open(program: string, directory: string): Promise<Page> {
    const page = new Page(program, directory)
    const { targetId } = await page.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await page.send('Target.attachToTarget', { targetId, flatten: true })
    page.#session = sessionId as string
    return page
  }

  async send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#messages
    const requests = this.#process.stdio[3] as Writable
    const session =
      this.#session === undefined || method.startsWith('Browser.') ? {} : { sessionId: this.#session }
    const { error, result } = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve)
      requests.write(`${JSON.stringify({ id, method, params, ...session })}\0`)
    })
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result ?? {}
  }

  /** The value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.send('Runtime.evaluate', { expression, returnByValue: true })
    return (result as { value?: unknown }).value
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'close')
    await this.send('Browser.close')
    await ended
  }
}
