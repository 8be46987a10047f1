// Prints how many ms it takes to read all files below a directory plainly, and from a change to the reload, in turn. node many_files.mjs DIRECTORY RUNS
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reload } from '../../dist/reload.js'

const [directory = '', count] = process.argv.slice(2)
const reloader = reload({ paths: [directory], action: { command: ['true'] }, delay: 100 })
await reloader.ready
const runs = []
for (let run = 0; run < Number(count); run++) {
  let began = performance.now()
  const hash = createHash('sha256')
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (!entry.isDirectory()) hash.update(readFileSync(join(entry.parentPath, entry.name)))
  const plain = performance.now() - began
  began = performance.now()
  const done = once(reloader, 'reload')
  writeFileSync(join(directory, '0/0'), `another ${run}`)
  const [{ changed }] = await done
  runs.push({ plain, took: performance.now() - began, changed })
}
console.log(JSON.stringify(runs))
await reloader.close()
