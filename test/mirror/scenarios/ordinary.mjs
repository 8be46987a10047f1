// A mirror in a process of its own, whose rights are its starter's to choose: prints what it skips and updates, until stdin ends.
import { join } from 'node:path'

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../../src/index.ts')} */
const { mirror } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const [, , source = '', target = ''] = process.argv

/** @param {unknown} what */
const print = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const mirrored = await mirror(source, target, { interval: 50, quiet: 5 })
for (const skipped of mirrored.skipped) print(skipped)
mirrored.on('update', ({ changed }) => print({ changed }))
for await (const _ of process.stdin);
await mirrored.close()
