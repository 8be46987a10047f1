// Asks for the cost of importing a watcher in a fresh process.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const DIST = join(import.meta.dirname, '../../../dist')
const TEXT_ALONE = 'its text alone'

/** @type {Record<string, string>} By the subject's name. */
const SPECIFIERS = {
  'inotify-bridge': 'inotify-bridge',
  '/inotify': 'inotify-bridge/inotify',
  '/watch': 'inotify-bridge/watch',
  '@parcel/watcher': '@parcel/watcher',
  chokidar: 'chokidar',
  watchpack: 'watchpack',
  [TEXT_ALONE]: '',
  'an empty file': './empty.mjs',
}

/** @type {import('../../question.mjs').Question} */
export const imports = {
  name: 'imports',
  asks: 'What does it take to import a watcher, in a fresh process?',
  note: `From before import() to after it; RSS is what the process has grown by. "an empty file": what Node takes for any
module. "its text alone": the same files as of inotify-bridge, found, read and parsed, of which nothing runs. "/inotify" and "/watch" are parts of inotify-bridge. The engine of watch() is loaded with "/watch", or else by the first call of watch(), which then takes what "/watch" takes more. @parcel/watcher loads its addon, which inotify-bridge does when it is first needed.`,
  rounds: 15,
  subjects: Object.keys(SPECIFIERS),
  figures: [
    { name: 'import', unit: 'ms', digits: 1, ratiosTo: ['@parcel/watcher'] },
    { name: 'RSS', unit: 'MiB', digits: 1 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'import', by: '@parcel/watcher', atMost: 1, limit: TEXT_ALONE },
    { subject: 'inotify-bridge', figure: 'RSS', atMost: 5 },
    { subject: '/inotify', figure: 'import', by: '@parcel/watcher', atMost: 0.5 },
    { subject: '/inotify', figure: 'RSS', atMost: 2.5 },
  ],

  async measure(subject, { scratch, children }) {
    const specifier = subject === TEXT_ALONE ? textAlone(scratch.newDirectory()) : SPECIFIERS[subject]
    const { ms, MiB } = await children.startNode('importing.mjs', specifier ?? '').next()
    return { import: ms, RSS: MiB }
  },
}

/**
 * Makes files that are imported like those of inotify-bridge, and have the text of each in a function that is
 * not called.
 * @param {string} directory
 */
function textAlone(directory) {
  /** @param {string} file */
  const make = (file) => {
    const lines = readFileSync(join(DIST, file), 'utf8').split('\n')
    const imports = lines.flatMap((line) => /^import .* from "\.\/(.*)";$/.exec(line)?.[1] ?? [])
    const text = lines.filter((line) => !/^(import|export) /.test(line)).join('\n')
    const head = imports.map((name) => `import './${name.replace(/js$/, 'mjs')}'\n`).join('')
    writeFileSync(join(directory, file.replace(/js$/, 'mjs')), `${head}export function all() {\n${text}\n}\n`)
    for (const name of imports) make(name)
  }
  make('index.js')
  return join(directory, 'index.mjs')
}
