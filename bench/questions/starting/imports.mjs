// What does it take to import a watcher in a fresh process?

/** @type {Record<string, string>} By the subject's name. */
const SPECIFIERS = {
  'inotify-bridge': 'inotify-bridge',
  '/inotify': 'inotify-bridge/inotify',
  '/watch': 'inotify-bridge/watch',
  '@parcel/watcher': '@parcel/watcher',
  chokidar: 'chokidar',
  watchpack: 'watchpack',
  'an empty file': './empty.mjs',
}

/** @type {import('../../question.mjs').Question} */
export const imports = {
  name: 'imports',
  asks: 'What does it take to import a watcher, in a fresh process?',
  note: `From before import() to after it; RSS is what the process has grown by. "an empty file": what Node takes for any
module. "/inotify" and "/watch" are parts of inotify-bridge. @parcel/watcher loads its addon, which inotify-bridge does when it is first needed.`,
  rounds: 15,
  subjects: Object.keys(SPECIFIERS),
  figures: [
    { name: 'import', unit: 'ms', digits: 1, ratiosTo: ['@parcel/watcher'] },
    { name: 'RSS', unit: 'MiB', digits: 1 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'import', by: '@parcel/watcher', atMost: 1 },
    { subject: 'inotify-bridge', figure: 'RSS', atMost: 5 },
    { subject: '/inotify', figure: 'import', by: '@parcel/watcher', atMost: 0.5 },
    { subject: '/inotify', figure: 'RSS', atMost: 2.5 },
  ],

  async measure(subject, { children }) {
    const { ms, MiB } = await children.startNode('importing.mjs', SPECIFIERS[subject] ?? '').next()
    return { import: ms, RSS: MiB }
  },
}
