// Reads a key as fast as it can until stdin ends, then prints its counts: { reads, missing, torn, versions }.
import { readFileSync } from 'node:fs'

const [, , path = '', size = ''] = process.argv
const seen = { reads: 0, missing: 0, torn: 0 }
let [changes, last] = [0, '']
let running = true
process.stdin.on('end', () => {
  running = false
})
process.stdin.resume()
process.stdout.write('ready\n')

function read() {
  for (let n = 0; n < 20; n++) {
    seen.reads++
    try {
      const text = readFileSync(path, 'utf8')
      // Every version is one character, repeated.
      if (text.length !== Number(size) || text !== text.charAt(0).repeat(text.length)) seen.torn++
      if (text !== last) changes++
      last = text
    } catch {
      seen.missing++
    }
  }
  if (running) setImmediate(read)
  else process.stdout.write(JSON.stringify({ ...seen, changes }))
}
read()
