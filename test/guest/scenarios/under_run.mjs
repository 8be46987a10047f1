// Runs an unchanged program under `inotify-bridge run`, and records its lines.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { now } from './host.mjs'

const RUN = join(import.meta.dirname, '../../../build/Release/inotify_bridge_run')

/** The ms after which a line will not come any more. */
const PATIENCE = 60_000

/** @param {number} interval @param {readonly string[]} program */
export function underRun(interval, program) {
  const child = spawn(RUN, ['--interval', String(interval), '--', ...program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  /** @type {Array<{ at: number, text: string }>} */
  const lines = []
  let arrived = () => {}
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => {
      // The name of a ConfigMap's version differs each time.
      lines.push({ at: now(), text: line.replace(/\.\.\d[^/]*/, '..TIME') })
      arrived()
    })
  return {
    lines,

    /**
     * Resolves to the time of a line that ends with `wanted`, after the first `from` lines, or to undefined
     * if none comes.
     *
     * @param {string} wanted @param {number} from
     */
    async heard(wanted, from) {
      const find = () => lines.slice(from).find(({ text }) => text.endsWith(wanted))?.at
      /** @type {Promise<number | undefined>} */
      const found = new Promise((resolve) => {
        const timer = setTimeout(() => resolve(undefined), PATIENCE)
        arrived = () => {
          if (find() === undefined) return
          clearTimeout(timer)
          resolve(find())
        }
        arrived()
      })
      return await found
    },

    async end() {
      child.kill()
      await once(child, 'close')
    },
  }
}
