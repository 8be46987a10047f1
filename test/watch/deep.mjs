// node deep.mjs ROOT OPTIONS: runs a recursive watcher in a process of its own that keeps only counts of the
// changes. Answers each line of input with the counts of all changes that were made before, and with the
// memory.
import { createInterface } from 'node:readline'
import { watch } from '../../dist/index.js'

const [root, options] = process.argv.slice(2).map((argument) => JSON.parse(argument))
const watcher = watch(root, { recursive: true, interval: 1_000_000, ...options })
/** @type {{ types: Record<string, number>, errors: object[], short: string[] }} */
let told
const begin = () => {
  told = { types: {}, errors: [], short: [] }
}
begin()
watcher.on('changes', (changes) => {
  for (const { type, path } of changes) {
    told.types[type] = (told.types[type] ?? 0) + 1
    if (path.length < 200) told.short.push(`${type} ${path.slice(root.length)}`)
  }
})
watcher.on('error', (error) => {
  const { code, path, hint } = /** @type {import('../../dist/index.js').InotifyError} */ (error)
  told.errors.push({ code, length: path?.length, hint })
})
await watcher.ready
const say = () => {
  const uncovered = watcher.coverage().flatMap((row) => row.uncovered)
  const mib = Math.round(process.memoryUsage.rss() / 2 ** 20)
  process.stdout.write(
    `${JSON.stringify({ ...told, uncovered: uncovered.map(({ path }) => path.length), mib })}\n`,
  )
  begin()
}
say()
for await (const _ of createInterface(process.stdin)) {
  await watcher.sync()
  say()
}
await watcher.close()
