// A tree of directories as a repository has them: areas of a thousand directories with a few files each.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const FILES_EACH = 4
const LEAVES_EACH = 1000

/** Room for other watches of this user, and of what a peer takes beside directories. */
const SPARE = 2_000
const MAX_USER_WATCHES = Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8'))

/**
 * The directories with files in each size of tree, for questions with a curve. The largest size is the most
 * that fs.inotify.max_user_watches allows.
 */
export const TREE_SIZES = [
  1_000,
  10_000,
  50_000,
  Math.min(500_000, 10_000 * Math.floor((MAX_USER_WATCHES - SPARE) / 10_000)),
]
export const LARGEST = TREE_SIZES.at(-1) ?? 0

/**
 * Returns the number of directories in a tree with `leaves` directories that have files.
 *
 * @param {number} leaves
 */
export const directoriesIn = (leaves) => 1 + Math.ceil(leaves / LEAVES_EACH) + leaves

/**
 * The trees by the scratch directory and the size.
 *
 * @type {Map<string, string>}
 */
const trees = new Map()

/**
 * The tree of this size, which is made once.
 * @param {import('./scratch.mjs').Scratch} scratch
 * @param {number} leaves
 */
export function treeOf(scratch, leaves) {
  const key = `${scratch.path} ${leaves}`
  const path = trees.get(key) ?? makeTree(scratch.newKeptDirectory(), leaves)
  trees.set(key, path)
  return path
}

/** The path of one that has files, from the tree's. @param {number} index */
export const leafOf = (index) => `area-${Math.floor(index / LEAVES_EACH)}/directory-${index % LEAVES_EACH}`

/**
 * @param {string} path
 * @param {number} leaves
 */
function makeTree(path, leaves) {
  for (let i = 0; i < leaves; i++) {
    if (i % LEAVES_EACH === 0) mkdirSync(join(path, dirname(leafOf(i))))
    const directory = join(path, leafOf(i))
    mkdirSync(directory)
    for (let file = 0; file < FILES_EACH; file++) writeFileSync(join(directory, `file-${file}.txt`), '')
  }
  return path
}
