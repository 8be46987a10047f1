// Runs a process that reads the mirror's target as fast as it can, while the host changes the source as fast
// as the test wants.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ask, library, memory, parameters, report, share } from './host.mjs'

const { operation, key, interval, changes } = parameters

const target = memory('target')
const first = 'A'.repeat(changes.size)
await ask('directory', { path: 'source' })
if (operation === 'swaps') await ask('swap', { path: 'source', files: { a: first, b: first } })
else await ask('create', { path: `source/${key}`, text: first })

const mirrored = await library.mirror(join(share, 'source'), target, { interval })
let updates = 0
mirrored.on('update', () => updates++)
mirrored.on('error', (error) => console.error(error))

const reader = spawn(
  process.execPath,
  [join(import.meta.dirname, 'reader.mjs'), join(target, key), String(changes.size)],
  { stdio: ['pipe', 'pipe', 'inherit'] },
)
await once(reader.stdout, 'data')
const answer = await ask(operation, { path: operation === 'swaps' ? 'source' : `source/${key}`, ...changes })
await mirrored.refresh()
reader.stdin.end()
const seen = JSON.parse(await text(reader.stdout))
await mirrored.close()
report({ ...seen, updates, longest: answer.longest ?? 0, seconds: (answer.ended - answer.began) / 1000 })
