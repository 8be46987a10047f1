import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

const CONNECTIONS = 4
/** ms from a request to the next of its connection: some hundreds a second in all, whatever the machine could do. */
const PACE = 10

/** Requests without a pause, each on a connection of its own, until it is stopped. */
export class Load {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: false })
  readonly #running: Promise<unknown>
  #stopped = false
  /** How often each answer came. */
  readonly answers = new Map<string, number>()
  readonly failures: string[] = []

  constructor(url: string) {
    this.#url = url
    this.#running = Promise.all(Array.from({ length: CONNECTIONS }, () => this.#run()))
    onTestFinished(() => this.stop())
  }

  get requests(): number {
    return this.failures.length + [...this.answers.values()].reduce((sum, n) => sum + n, 0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const pace = sleep(PACE)
      try {
        const answer = await this.#ask()
        this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1)
      } catch (error) {
        this.failures.push(`${new Date().toISOString()} ${error}`)
      }
      await pace
    }
  }

  async #ask(): Promise<string> {
    return await new Promise<string>((resolve, reject) => {
      const request = get(this.#url, { agent: this.#agent, timeout: 10_000 }, (response) => {
        // A body that is cut off is an error of the stream.
        text(response).then((body) => {
          if (response.statusCode === 200) resolve(body)
          else reject(new Error(`${response.statusCode} ${body}`))
        }, reject)
      })
      request.on('timeout', () => request.destroy(new Error('no answer for 10 s')))
      request.on('error', reject)
    })
  }
}
