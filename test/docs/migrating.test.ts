// Measures the table in docs/migrating.md: each watcher sees the steps, and must tell the changes that the
// table says.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  watch as fsWatch,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import chokidar from 'chokidar'
import chokidar6 from 'chokidar6'
import { expect, onTestFinished, test } from 'vitest'
import { watch } from '../../src/entries/watch.ts'
import { scratch } from '../support/scratch.ts'
import { textOf } from './pages.ts'

const [head = [], ...rows] = [
  ...textOf('docs/migrating.md').matchAll(/^\| (?=.*\|.*\|.*\|.*\|.*\|).*\|$/gm),
].map(([row]) =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim()),
)

/** The steps by their names in the table. `outside` is a directory of the same filesystem. */
const STEPS: Record<string, (directory: string, outside: string) => void> = {
  '`a` is made': (directory) => writeFileSync(join(directory, 'a'), ''),
  '`a` is written': (directory) => appendFileSync(join(directory, 'a'), 'text'),
  '`a` is renamed to `b`': (directory) => renameSync(join(directory, 'a'), join(directory, 'b')),
  'a file from outside is renamed over `b`': (directory, outside) => {
    writeFileSync(join(outside, 'draft'), 'another text')
    renameSync(join(outside, 'draft'), join(directory, 'b'))
  },
  'a directory `d` with a file `x` is moved in': (directory, outside) => {
    mkdirSync(join(outside, 'd'))
    writeFileSync(join(outside, 'd/x'), '')
    renameSync(join(outside, 'd'), join(directory, 'd'))
  },
  '`d/x` is written': (directory) => appendFileSync(join(directory, 'd/x'), 'text'),
  '`d` is renamed to `e`': (directory) => renameSync(join(directory, 'd'), join(directory, 'e')),
  '`b` gets another mode': (directory) => chmodSync(join(directory, 'b'), 0o600),
  '`e` is removed with all in it': (directory) => rmSync(join(directory, 'e'), { recursive: true }),
}

const PARCEL = `
const { relative } = require('node:path')
const [, directory] = process.argv
require('@parcel/watcher').subscribe(directory, (_, events) => {
  for (const { type, path } of events) console.log(type + ' ' + relative(directory, path))
}).then(() => console.log('ready'))`

type Tell = (what: string) => void

function watchedBy(library: Pick<typeof chokidar, 'watch'> | Pick<typeof chokidar6, 'watch'>) {
  return async (directory: string, tell: Tell) => {
    const watcher = library.watch(directory, { ignoreInitial: true })
    watcher.on('all', (event: string, path: string) => tell(`${event} ${relative(directory, path)}`))
    onTestFinished(() => watcher.close())
    await once(watcher, 'ready')
  }
}

/** Each resolves when later changes are told. */
const WATCHERS: Record<string, (directory: string, tell: Tell) => Promise<void>> = {
  async 'fs.watch'(directory, tell) {
    const watcher = fsWatch(directory, (type, name) => tell(`${type} ${name}`))
    onTestFinished(() => watcher.close())
  },
  chokidar: watchedBy(chokidar),
  async '@parcel/watcher'(directory, tell) {
    // subscribe() runs in a process of its own: now and then it never returns, because two of its threads
    // wait for each other, and blocks its process.
    for (let isReady = false; !isReady; ) {
      const child = spawn(process.execPath, ['-e', PARCEL, directory], { cwd: import.meta.dirname })
      onTestFinished(() => void child.kill('SIGKILL'))
      const waiting = setTimeout(() => child.kill('SIGKILL'), 5000)
      await new Promise<void>((resolve) => {
        createInterface(child.stdout)
          .on('line', (line) => {
            if (line !== 'ready') return tell(line)
            isReady = true
            resolve()
          })
          .on('close', resolve)
      })
      clearTimeout(waiting)
    }
  },
  async 'inotifywait -mr'(directory, tell) {
    const events = 'create,modify,attrib,close_write,move,delete'
    const child = spawn('inotifywait', ['-mr', '-e', events, '--format', '%e %w%f', directory])
    onTestFinished(() => void child.kill())
    createInterface(child.stdout).on('line', (line) => {
      const [event = '', path = ''] = line.split(' ')
      tell(`${event} ${relative(directory, path)}`)
    })
    for await (const line of createInterface(child.stderr)) if (/established/.test(line)) break
  },
  async 'watch()'(directory, tell) {
    const watcher = watch(directory, { recursive: true })
    watcher.on('changes', (changes) => {
      for (const change of changes) {
        const from = change.type === 'rename' ? `${relative(directory, change.from)} ` : ''
        tell(`${change.type} ${from}${relative(directory, change.path)}`)
      }
    })
    onTestFinished(() => watcher.close())
    await watcher.ready
  },
}

const lacks = (name: string) =>
  name.startsWith('inotifywait') && spawnSync('inotifywait', ['--help']).error !== undefined

test('the table has these steps and watchers', () => {
  expect(rows.map(([step]) => step)).toEqual(Object.keys(STEPS))
  expect(head.slice(1)).toEqual(Object.keys(WATCHERS))
})

for (const [name, start, column = name] of [
  ...Object.entries(WATCHERS),
  ['chokidar 6', watchedBy(chokidar6), 'chokidar'],
] as const) {
  test.skipIf(lacks(name))(
    `${name} tells what the table says${lacks(name) ? ' (it is not installed)' : ''}`,
    async () => {
      const [directory, outside] = [scratch(), scratch()]
      let told = new Set<string>()
      await start(directory, (what) => void told.add(what))
      for (const [step = '', ...cells] of rows) {
        const cell = cells[head.indexOf(column) - 1] ?? ''
        STEPS[step]?.(directory, outside)
        // Changes that are wrong or late would disturb the next step.
        await expect
          .poll(() => [...told].sort(), { timeout: 10_000, message: step })
          .toEqual(
            cell
              .split('; ')
              .filter((what) => what !== '')
              .sort(),
          )
        told = new Set()
      }
    },
  )
}
