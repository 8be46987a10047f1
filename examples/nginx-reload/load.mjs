import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const CONNECTIONS = 4
/** ms from a request to the next of its connection: some hundreds a second in all, whatever the machine could do. */
const PACE = 10

/** Requests without a pause, each on a connection of its own, until it is stopped. */
export class Load {
  #url
  #agent = new Agent({ keepAlive: false })
  #running
  #stopped = false
  /** How often each answer came. @type {Map<string, number>} */
  answers = new Map()
  /** @type {string[]} */
  failures = []

  /** @param {string} url */
  constructor(url) {
    this.#url = url
    this.#running = Promise.all(Array.from({ length: CONNECTIONS }, () => this.#run()))
  }

  get requests() {
    return this.failures.length + [...this.answers.values()].reduce((sum, n) => sum + n, 0)
  }

  async stop() {
    this.#stopped = true
    await this.#running
  }

  async #run() {
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

  /** @returns {Promise<string>} */
  #ask() {
    return new Promise((resolve, reject) => {
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
