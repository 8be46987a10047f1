import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Makes a directory in which this package is installed, without anything that is compiled, and these of the repository by their names. */
export function installed(packages: Record<string, string> = {}): string {
  const directory = scratch()
  const place = (name: string) => join(directory, 'node_modules', name)
  for (const name of ['dist', 'package.json'])
    cpSync(join(ROOT, name), join(place('inotify-bridge'), name), { recursive: true })
  for (const [name, source] of Object.entries(packages)) {
    mkdirSync(dirname(place(name)), { recursive: true })
    // What is our own looks for inotify-bridge beside itself.
    if (source.startsWith('packages/')) cpSync(join(ROOT, source), place(name), { recursive: true })
    else symlinkSync(join(ROOT, source), place(name))
  }
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  return directory
}

/** The originals, as they are installed in the repository. */
export const ORIGINALS = {
  chokidar: 'node_modules/chokidar',
  '@parcel/watcher': 'node_modules/@parcel/watcher',
}

/** A program that says which names of each drop-in are the original's, by import and by require, and in the default. `before` comes when the originals are loaded. */
export const compares = (before: string) => `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const originals = {
  chokidar: require('chokidar'),
  parcel: require('@parcel/watcher'),
  fs: require('node:fs'),
  'fs/promises': require('node:fs/promises'),
}
${before}
for (const [name, original] of Object.entries(originals)) {
  const imported = await import('inotify-bridge/' + name)
  const all = [imported, require('inotify-bridge/' + name), imported.default]
  const handedOver = (key) => all.every((each) => each[key] === original[key])
  console.log(name, Object.keys(imported).filter((key) => key !== 'default' && handedOver(key)).sort().join())
}`

/** The output of {@link compares} where each drop-in hands over. */
export const HANDED_OVER = `chokidar FSWatcher,watch
parcel getEventsSince,subscribe,unsubscribe,writeSnapshot
fs promises,unwatchFile,watch,watchFile
fs/promises watch
`

/** A program that says what each drop-in tells of a new file. */
export const HEARS = `
import { mkdirSync, writeFileSync } from 'node:fs'
import chokidar, { FSWatcher } from 'inotify-bridge/chokidar'
import fs from 'inotify-bridge/fs'
import { watch } from 'inotify-bridge/fs/promises'
import { subscribe } from 'inotify-bridge/parcel'

class Own extends FSWatcher {}
mkdirSync('watched')
const own = new Own({ ignoreInitial: true }).add('watched')
const told = [
  new Promise((resolve) => own.on('add', (path) => resolve(['chokidar', path, chokidar.watch([]) instanceof FSWatcher]))),
  new Promise((resolve) => fs.watch('watched', (...event) => resolve(['fs', ...event]))),
  (async () => { for await (const { eventType, filename } of watch('watched')) return ['fs/promises', eventType, filename] })(),
]
await new Promise((resolve) => own.on('ready', resolve))
await new Promise((resolve) => told.push(new Promise((tell) => subscribe('watched', (_, [{ type }]) => tell(['parcel', type])).then(resolve))))
writeFileSync('watched/made', '')
for (const each of await Promise.all(told)) console.log(...each)
process.exit()
`

/** The output of {@link HEARS}. */
export const HEARD = `chokidar watched/made true
fs rename made
fs/promises rename made
parcel create
`
