// Compares a target with what it shall show at a moment.
import fs from 'node:fs'
import { join } from 'node:path'
import { EMPTY } from './content.mjs'
import { viewOf } from './expected.mjs'
import { namesIn, viewOfTarget } from './look.mjs'

/** @typedef {import('./expected.mjs').Offer} Offer */
/** @typedef {import('./look.mjs').Leaf} Leaf */
/** @typedef {Map<string, Leaf & { linked: boolean }>} View */
/** @typedef {{ view: View, data: 'is there' | 'is not there' | 'may be there' }} Possible what readers may find, and the AtomicWriter's `..data` */

/** Combinations of what several sources may have shown last. Of more it is not said which may be. */
const MOST = 64

/**
 * All that the target may show: of each source what it offers, or any of several where it is beyond the limits or lost.
 *
 * @param {ReadonlyArray<readonly Offer[]>} offers of each source, in their order
 * @returns {Possible[]} none if that cannot be known
 */
export function possibilities(offers) {
  /** @type {Offer[][]} */
  let combined = [[]]
  if (offers.reduce((product, some) => product * some.length, 1) > MOST) return []
  for (const some of offers) combined = combined.flatMap((before) => some.map((offer) => [...before, offer]))
  return combined.map((each) => ({
    view: viewOf(each),
    data: each.some(({ keys }) => keys !== undefined)
      ? 'is there'
      : // Links into the source may come by way of one.
        each.some(({ isConfigMap }) => isConfigMap)
        ? 'may be there'
        : 'is not there',
  }))
}

/** A difference: the path, and in words. `waits`: the file was emptied, for which a mirror takes its time. @typedef {{ path: string, what: string, waits: boolean }} Difference */

/**
 * Compares path by path.
 *
 * @param {string} target
 * @param {readonly Possible[]} possible at least one
 * @param {boolean} isSole a single file is mirrored: the rest of the directory is not the mirror's
 * @returns {Difference[]}
 */
export function differences(target, possible, isSole) {
  const actual = viewOfTarget(target)
  /** @type {Difference[]} */
  const found = []
  const paths = new Set([...actual.keys(), ...possible.flatMap(({ view }) => [...view.keys()])])
  for (const path of paths) {
    const first = path.split('/')[0] ?? ''
    if (isSole && !possible.some(({ view }) => view.has(first))) continue
    const is = actual.get(path)
    const all = possible.map(({ view }) => view.get(path))
    if (all.some((leaf) => isSame(is, leaf))) continue
    const waits = all.some((leaf) => leaf?.kind === 'file' && leaf.header === EMPTY) && is?.kind === 'file'
    const what = `${JSON.stringify(path)} is ${inWords(is)}; it should be ${[...new Set(all.map(inWords))].join(', or ')}`
    found.push({ path, what, waits })
  }
  return isSole ? found : [...found, ...strays(target, possible)]
}

/** Checks the AtomicWriter's names in the target. @param {string} target @param {readonly Possible[]} possible @returns {Difference[]} */
function strays(target, possible) {
  const path = join(target, '..data')
  const is = fs.lstatSync(path, { throwIfNoEntry: false })
  const leads = is?.isSymbolicLink() && fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()
  const others = namesIn(target).filter((name) => name.startsWith('..') && name !== '..data')
  const difference = (/** @type {string} */ what) => [{ path: '..data', what, waits: false }]
  if (possible.every(({ data }) => data === 'is there') && !leads)
    return difference('there is no ..data that leads to keys')
  if (possible.every(({ data }) => data === 'is not there') && (is !== undefined || others.length > 0))
    return difference(`no source has a ..data: the target has ${[is && '..data', ...others].join(' ')}`)
  if (others.length > 1) return difference(`more than one version of the keys is left: ${others.join(' ')}`)
  return []
}

/** @param {Leaf | undefined} is @param {Leaf & { linked: boolean } | undefined} leaf */
function isSame(is, leaf) {
  if (is === undefined || leaf === undefined) return is === leaf
  if (is.kind === 'file' && leaf.kind === 'file')
    return is.header === leaf.header && (leaf.linked || (!is.linked && (is.mode & 0o777) === leaf.mode))
  if (is.kind !== 'directory' || leaf.kind !== 'directory') return is.kind === leaf.kind
  // Without root's rights the mirror needs its own to a directory.
  const own = process.getuid?.() === 0 ? 0 : 0o700
  return leaf.linked || ((is.mode & 0o777) | own) === (leaf.mode | own)
}

/** @param {Leaf | undefined} leaf @returns {string} */
export function inWords(leaf) {
  if (leaf === undefined) return 'absent'
  if (leaf.kind === 'nothing') return 'a link to nothing'
  const mode = leaf.mode.toString(8)
  if (leaf.kind === 'directory') return `a directory (${mode})`
  const way = leaf.linked ? ' by a link into a source' : ''
  return `${leaf.header === EMPTY ? 'empty' : headerInWords(leaf.header)} (${mode})${way}`
}

/** @param {string} header */
export function headerInWords(header) {
  const [, tag, source, version, size] = /^@([0-9a-f]*)\|(\d+)\|(\d+)\|(\d+)\|$/.exec(header) ?? []
  if (tag === undefined) return header === EMPTY ? 'empty' : header
  return `${JSON.stringify(Buffer.from(tag, 'hex').toString())} of source ${source}, version ${version}, ${size} bytes`
}

/** Lists a target from which the mirror has removed what it made. @param {string} target */
export function leftovers(target) {
  return namesIn(target)
}
