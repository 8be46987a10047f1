// Imports that a program of node:fs or @parcel/watcher has work once the specifier is replaced, by the exports of package.json.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** Runs a module in the package, which may import itself by name. */
function run(text: string): string {
  const argv = ['--input-type=module', '-e', text]
  return execFileSync(process.execPath, argv, { cwd: ROOT, encoding: 'utf8' }).trim()
}

const TOLD = `
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
const directory = mkdtempSync('/tmp/inotify-bridge-')
const change = () => setImmediate(() => writeFileSync(directory + '/made', ''))
process.on('exit', () => rmSync(directory, { recursive: true }))
`
const ITERATE = `
change()
for await (const { eventType, filename } of watch(directory)) {
  console.log(eventType, filename)
  break
}`

test.each([
  [
    'fs.watch',
    `import fs from 'inotify-bridge/fs'`,
    `const watcher = fs.watch(directory, (...event) => { console.log(...event); watcher.close() }); change()`,
  ],
  ['fs.promises.watch', `import fs from 'inotify-bridge/fs'\nconst { watch } = fs.promises`, ITERATE],
  ['watch of fs/promises', `import { watch } from 'inotify-bridge/fs/promises'`, ITERATE],
  ['default of fs/promises', `import fsp from 'inotify-bridge/fs/promises'\nconst { watch } = fsp`, ITERATE],
])('%s tells of a new file', (_, imports, text) => {
  expect(run(`${imports}\n${TOLD}\n${text}`)).toBe('rename made')
})

test('the default of /fs, and of /fs/promises, has all else from Node', () => {
  const text = `
import fs from 'inotify-bridge/fs'
import fsp from 'inotify-bridge/fs/promises'
import * as named from 'inotify-bridge/fs'
import nodes from 'node:fs'
const others = (mine, theirs) => Object.keys(theirs).filter((name) => mine[name] !== theirs[name]).join()
console.log(others(fs, nodes), others(fsp, nodes.promises), fs.promises === fsp, fs.watch === named.watch)`
  expect(run(text)).toBe('watch,promises watch true true')
})

test('the default of /parcel has the functions of the original', () => {
  const text = `
import mine from 'inotify-bridge/parcel'
import original from '@parcel/watcher'
console.log(Object.keys(original).filter((name) => typeof mine[name] !== 'function').join())`
  expect(run(text)).toBe('')
})
