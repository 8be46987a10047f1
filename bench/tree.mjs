// A tree of directories as a repository has them: areas of a thousand directories with a few files each.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const FILES_EACH = 4
const LEAVES_EACH = 1000

/** How many directories there are in a tree with so many that have files. @param {number} leaves */
export const directoriesIn = (leaves) => 1 + Math.ceil(leaves / LEAVES_EACH) + leaves

/** By the scratch directory and the size. @type {Map<string, string>} */
const trees = new Map()

/**
 * The tree of this size, which is made once.
 * @param {import('./scratch.mjs').Scratch} scratch
 * @param {number} leaves
 */
export function treeOf(scratch, leaves) {
  const key = `${scratch.path} ${leaves}`
  const path = trees.get(key) ?? makeTree(scratch.newDirectory(), leaves)
  trees.set(key, path)
  return path
}

/**
 * @param {string} path
 * @param {number} leaves
 */
function makeTree(path, leaves) {
  for (let i = 0; i < leaves; i++) {
    const area = join(path, `area-${Math.floor(i / LEAVES_EACH)}`)
    if (i % LEAVES_EACH === 0) mkdirSync(area)
    const directory = join(area, `directory-${i % LEAVES_EACH}`)
    mkdirSync(directory)
    for (let file = 0; file < FILES_EACH; file++) writeFileSync(join(directory, `file-${file}.txt`), '')
  }
  return path
}
