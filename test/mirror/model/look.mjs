// Reads the disk into plain values.
import fs from 'node:fs'
import { join, relative } from 'node:path'
import { headerOf } from './content.mjs'

/**
 * An entry of a source. Of content the header suffices.
 *
 * @typedef {{ kind: 'file', header: string, size: number, mode: number }} File
 * @typedef {{ kind: 'link', to: string }} Link
 * @typedef {{ kind: 'directory', mode: number, entries: Map<string, Node> }} Directory
 * @typedef {File | Link | Directory | { kind: 'other' }} Node
 */

/**
 * The end of a path for a reader, who follows all links. `linked`: the file is a source's own.
 *
 * @typedef {{ kind: 'file', header: string, mode: number, linked: boolean } | { kind: 'directory', mode: number } | { kind: 'nothing' }} Leaf
 */

/** Links may lead in circles. */
export const DEEPEST = 5

/** The mirror's own: its record of what it has made, and where it makes ready. */
export const OWN = '.inotify-bridge-'

/** Names that begin alike before this are rotated together: links among them lead from one to another. */
export const MEMBER = '~'

/** Reads the entry at a path and follows no links; undefined if there is none. @param {string} path @returns {Node | undefined} */
export function readNode(path) {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const mode = stat.mode & 0o7777
  if (stat.isSymbolicLink()) return { kind: 'link', to: fs.readlinkSync(path) }
  if (stat.isFile()) return { kind: 'file', header: headerOf(fs.readFileSync(path)), size: stat.size, mode }
  if (!stat.isDirectory()) return { kind: 'other' }
  /** @type {Map<string, Node>} */
  const entries = new Map()
  for (const name of fs.readdirSync(path).sort()) {
    const node = readNode(join(path, name))
    if (node !== undefined) entries.set(name, node)
  }
  return { kind: 'directory', mode, entries }
}

/**
 * Returns what readers find in a target, by path, without the names of the mirror's own directory and the AtomicWriter's.
 *
 * @param {string} target
 * @returns {Map<string, Leaf>}
 */
export function viewOfTarget(target) {
  /** @type {Map<string, Leaf>} */
  const view = new Map()
  const visit = (/** @type {string} */ path, /** @type {number} */ depth) => {
    const leaf = leafAt(target, join(target, path))
    view.set(path, leaf)
    if (leaf.kind !== 'directory' || depth === DEEPEST) return
    for (const name of namesIn(join(target, path))) visit(`${path}/${name}`, depth + 1)
  }
  for (const name of namesIn(target)) if (!name.startsWith('..') && !name.startsWith(OWN)) visit(name, 1)
  return view
}

/** Returns true if a path leads to an entry in the target. @param {string} target @param {string} path */
export function isWithin(target, path) {
  try {
    return `${fs.realpathSync(path)}/`.startsWith(`${fs.realpathSync(target)}/`)
  } catch {
    return false
  }
}

/** The name of the first level at which, or below which, an entry lies, also where its path leads there over links, or it is in a version of keys. @param {string} target @param {string} path */
export function homeOf(target, path) {
  try {
    const real = relative(fs.realpathSync(target), fs.realpathSync(join(target, path)))
    return real.split('/').find((name) => !name.startsWith('..')) || undefined
  } catch {
    return undefined
  }
}

/** @param {string} path */
export function isLink(path) {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

/** @param {string} path @returns {string[]} none of what is no directory, or gone */
export function namesIn(path) {
  try {
    return fs.readdirSync(path).sort()
  } catch {
    return []
  }
}

/** @param {string} target @param {string} path @returns {Leaf} */
function leafAt(target, path) {
  try {
    const stat = fs.statSync(path)
    const mode = stat.mode & 0o7777
    if (stat.isDirectory()) return { kind: 'directory', mode }
    if (stat.isFile())
      return { kind: 'file', header: headerOf(fs.readFileSync(path)), mode, linked: !isWithin(target, path) }
  } catch {
    // It dangles, leads in a circle, or has gone meanwhile.
  }
  return { kind: 'nothing' }
}
