// Asks how soon the changes of a tree during a time without a watcher are known, and what that knowledge
// costs.
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { directoriesIn, FILES_EACH, leafOf, treeOf } from '../../tree.mjs'

const LEAVES = 50_000
const DIRECTORIES = directoriesIn(LEAVES)
const NEW = 1_000

const [OURS, THEIRS] = ['inotify-bridge/parcel', '@parcel/watcher']

/** @type {import('../../question.mjs').Question} */
export const since = {
  name: 'since',
  asks: `How soon is it known which ${NEW} files are new in a tree of ${LEAVES * FILES_EACH} files that nobody has watched meanwhile?`,
  note: `${DIRECTORIES} directories. "save" is writeSnapshot(), which here is watch() and its save(); "since" is getEventsSince(), which is watch() with since; each in a process of
its own, from the call to its end. "memory" is what that of the latter has at most (RSS).`,
  rounds: 5,
  subjects: [OURS, THEIRS],
  figures: [
    { name: 'save', unit: 'ms', digits: 0, ratiosTo: [THEIRS] },
    { name: 'since', unit: 'ms', digits: 0, ratiosTo: [THEIRS] },
    { name: 'memory', unit: 'MiB', digits: 0 },
    { name: 'snapshot', unit: 'bytes a name', digits: 1 },
    { name: 'told', unit: '%', digits: 1, least: 100, most: 100 },
  ],
  targets: [
    { subject: OURS, figure: 'since', by: THEIRS, atMost: 1 },
    { subject: OURS, figure: 'told', atLeast: 100, atMost: 100 },
  ],

  async measure(subject, { scratch, children }) {
    const tree = treeOf(scratch, LEAVES)
    const snapshot = join(scratch.newDirectory(), 'snapshot')
    const ask = (/** @type {string} */ what) =>
      children.startSubject('trees/since', subject, tree, what, snapshot).next()
    const { ms: save } = await ask('save')
    const { size } = statSync(snapshot)
    const made = makeNew(tree)
    const { ms, MiB, told } = await ask('since')
    for (const path of made) rmSync(path)
    const bytes = size / (DIRECTORIES + LEAVES * FILES_EACH)
    return { save, since: ms, memory: MiB, snapshot: bytes, told: (told / NEW) * 100 }
  },
}

/** Files, each in another directory. @param {string} tree */
function makeNew(tree) {
  const paths = Array.from({ length: NEW }, (_, i) => join(tree, leafOf(i * (LEAVES / NEW)), 'new'))
  for (const path of paths) writeFileSync(path, '')
  return paths
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args: [what, snapshot = ''], say }) {
  const { writeSnapshot, getEventsSince } =
    watcher === OURS ? await import('../../../dist/parcel.js') : await import('@parcel/watcher')
  const start = performance.now()
  if (what === 'save') await writeSnapshot(directory, snapshot)
  const events = what === 'save' ? [] : await getEventsSince(directory, snapshot)
  const ms = performance.now() - start
  const told = events.filter(({ type, path }) => type === 'create' && path.endsWith('/new')).length
  say({ ms, told, MiB: process.resourceUsage().maxRSS / 1024 })
  process.exit()
}
