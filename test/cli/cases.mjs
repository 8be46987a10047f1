// Runs the command many times in one process, each time as node would that is started for it: to start a process takes longer than what most
// wrong usage takes to be told.
//
//   node cases.mjs < CASES     CASES: JSON, an array of arguments for each run; prints as JSON what each has printed, and its exit code
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

const main = join(import.meta.dirname, '../../dist/cli.js')
const cases = /** @type {string[][]} */ (await json(process.stdin))

const results = []
for (const [n, args] of cases.entries()) {
  const result = { code: 0, stdout: '', stderr: '' }
  /** @param {'stdout' | 'stderr'} stream */
  const keep = (stream) => (/** @type {string | Uint8Array} */ chunk) => {
    result[stream] += chunk
    return true
  }
  const { stdout, stderr, argv } = process
  const write = [stdout.write, stderr.write]
  stdout.write = keep('stdout')
  stderr.write = keep('stderr')
  process.argv = [...argv.slice(0, 2), ...args]
  process.exitCode = 0
  // A module of its own; what it imports is loaded once.
  await import(`${main}?case=${n}`)
  result.code = Number(process.exitCode)
  ;[stdout.write, stderr.write] = /** @type {[typeof stdout.write, typeof stderr.write]} */ (write)
  process.argv = argv
  // Removes the listeners of this run: those that stay would hear of signals and errors for each later run.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  for (const stream of [stdout, stderr]) stream.removeAllListeners('error')
  results.push(result)
}
process.exitCode = 0
process.stdout.write(JSON.stringify(results))
