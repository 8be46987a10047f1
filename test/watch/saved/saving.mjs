// Watches a directory and saves it again and again, until it is killed. Its argument: the directory, and the file.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/entries/watch.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/watch.js'))

const [, , root = '', file = ''] = process.argv
const watcher = watch(root, { recursive: true })
await watcher.ready
for (let i = 0; ; i++) {
  writeFileSync(join(root, 'counter'), `${i}`)
  await watcher.save(file)
  process.stdout.write(`${i}\n`)
}
