// Reads a key as fast as it can until stdin ends, then prints what it met: { reads, missing, torn, versions }.
import { readFileSync } from 'node:fs'

const [path] = process.argv.slice(2)
const seen = { reads: 0, missing: 0, torn: 0, versions: 0 }
const versions = new Set()
let running = true
process.stdin.on('end', () => {
  running = false
})
process.stdin.resume()
process.stdout.write('ready\n')

function read() {
  for (let n = 0; n < 100; n++) {
    seen.reads++
    try {
      // Every version is one character, repeated.
      const text = readFileSync(/** @type {string} */ (path), 'utf8')
      if (text === '' || text !== text.charAt(0).repeat(text.length) || text.length !== 65_536) seen.torn++
      versions.add(text.charAt(0))
    } catch {
      seen.missing++
    }
  }
  if (running) setImmediate(read)
  else process.stdout.write(JSON.stringify({ ...seen, versions: versions.size }))
}
read()
