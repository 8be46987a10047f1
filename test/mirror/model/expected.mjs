// Says what a target shall show of its sources: docs/semantics.md as a plain function of the sources. Uses nothing of src/mirror.
import { posix } from 'node:path'
import { DEEPEST } from './look.mjs'

/** @typedef {import('./look.mjs').Node} Node */
/** @typedef {import('./look.mjs').Leaf} Leaf */
/** @typedef {{ files: number, bytes: number }} Limits */

/**
 * The part of the target that one source gives.
 *
 * @typedef {object} Offer
 * @property {'copied' | 'linked' | 'held'} way 'held': it is beyond the limits and shows what it showed before
 * @property {Map<string, Node>} entries without the AtomicWriter's own
 * @property {Map<string, Node> | undefined} keys what is behind the target's `..data`
 * @property {boolean} isConfigMap whether the source has a `..data`
 * @property {Map<string, Node> | undefined} behind what is behind that, to which links of the target may lead
 */

/**
 * @param {Node} node what is at the source's path
 * @param {string} path which the mirror knows it by
 * @param {string} alias the name of a single file in the target
 * @param {Limits} limits
 * @param {'link' | 'hold' | undefined} overLimit
 * @returns {Offer | undefined} undefined if it is neither a file nor a directory
 */
export function offerOf(node, path, alias, limits, overLimit) {
  const data = node.kind === 'directory' ? generationOf(node) : undefined
  const count = { files: 0, bytes: 0, skipped: 0, isConfigMap: data !== undefined }
  const wayOf = () => {
    if (count.files <= limits.files && count.bytes <= limits.bytes) return 'copied'
    return (overLimit ?? (count.skipped > 0 ? 'hold' : 'link')) === 'link' ? 'linked' : 'held'
  }
  if (node.kind === 'file') {
    allowed(node, '', '', count)
    return {
      way: wayOf(),
      entries: new Map([[alias, node]]),
      keys: undefined,
      isConfigMap: false,
      behind: undefined,
    }
  }
  if (node.kind !== 'directory') return undefined
  /** @type {Map<string, Node>} */
  const entries = new Map()
  for (const [name, child] of node.entries) {
    // Beside a `..data` whatever begins so is the AtomicWriter's.
    if (data !== undefined && name.startsWith('..')) continue
    const kept = allowed(child, name, path, count)
    if (kept !== undefined) entries.set(name, kept)
  }
  const generation = data && allowed(data, '..data', path, count)
  const keys = generation?.kind === 'directory' ? generation.entries : undefined
  const isConfigMap = keys !== undefined
  const way = wayOf()
  if (way !== 'linked' || keys === undefined) return { way, entries, keys, isConfigMap, behind: keys }
  // Each key leads into the source by itself: the target's `..data`, if it has one, is of others.
  for (const [name, child] of entries) {
    const behind = child.kind === 'link' ? behindData(child.to, keys) : undefined
    if (behind !== undefined) entries.set(name, behind)
  }
  return { way, entries, keys: undefined, isConfigMap, behind: keys }
}

/** The directory that `..data` leads to, by any number of links beside it. @param {import('./look.mjs').Directory} source */
function generationOf({ entries }) {
  let node = entries.get('..data')
  for (let hops = 0; node?.kind === 'link' && hops < 40; hops++) node = entries.get(node.to)
  return node?.kind === 'directory' && entries.get('..data')?.kind === 'link' ? node : undefined
}

/** @param {string} to @param {Map<string, Node>} keys */
function behindData(to, keys) {
  const [data, first = '', ...rest] = to.split('/')
  return data === '..data' && rest.length === 0 ? keys.get(first) : undefined
}

/**
 * A node without what is never mirrored; undefined if that is all of it.
 *
 * @param {Node} node
 * @param {string} at its path in the source
 * @param {string} source
 * @param {{ files: number, bytes: number, skipped: number, isConfigMap: boolean }} count of what the source has
 * @returns {Node | undefined}
 */
function allowed(node, at, source, count) {
  if (node.kind === 'file') {
    count.files++
    count.bytes += node.size
    return node
  }
  if (node.kind === 'directory') {
    /** @type {Map<string, Node>} */
    const entries = new Map()
    for (const [name, child] of node.entries) {
      const kept = allowed(child, `${at}/${name}`, source, count)
      if (kept !== undefined) entries.set(name, kept)
    }
    return { ...node, entries }
  }
  if (node.kind === 'link') {
    // A ConfigMap's own links do not count.
    if (!count.isConfigMap || node.to !== `..data/${at}`) count.bytes += Buffer.byteLength(node.to)
    const within = posix.isAbsolute(node.to)
      ? posix.relative(source, node.to)
      : posix.join(posix.dirname(at), node.to)
    if (within !== '..' && !within.startsWith('../') && within !== '')
      return { kind: 'link', to: posix.relative(posix.dirname(at), within) }
  }
  count.skipped++
  return undefined
}

/** @param {readonly Offer[]} offers @returns {string[]} the first-level names, and keys, that more than one has */
export function conflictsOf(offers) {
  const names = offers.flatMap(({ entries }) => [...entries.keys()])
  const keys = offers.flatMap(({ keys }) => [...(keys?.keys() ?? [])])
  return [names, keys].flatMap((all) => all.filter((name, i) => all.indexOf(name) !== i))
}

/**
 * Returns what readers of the target find, by path. A name of several sources is that of the first.
 *
 * @param {readonly Offer[]} offers
 * @returns {Map<string, Leaf & { linked: boolean }>}
 */
export function viewOf(offers) {
  /** @type {Map<string, { node: Node, linked: boolean }>} */
  const merged = new Map()
  /** @type {Map<string, Node>} */
  const keys = new Map()
  for (const offer of offers) {
    for (const [name, node] of offer.entries)
      if (!merged.has(name)) merged.set(name, { node, linked: offer.way === 'linked' })
    for (const [name, node] of offer.keys ?? []) if (!keys.has(name)) keys.set(name, node)
  }
  if (keys.size > 0)
    merged.set('..data', { node: { kind: 'directory', mode: 0, entries: keys }, linked: false })

  /** The node at a path of the target, links followed. @returns {{ node: Node, linked: boolean, at: string } | undefined} */
  const resolve = (/** @type {string} */ path, /** @type {number} */ hops) => {
    const [first = '', ...rest] = path.split('/')
    const found = merged.get(first)
    if (found === undefined) return undefined
    let { node } = found
    let at = first
    for (const name of [undefined, ...rest]) {
      if (name !== undefined) {
        if (node.kind !== 'directory') return undefined
        const child = node.entries.get(name)
        if (child === undefined) return undefined
        node = child
        at = `${at}/${name}`
      }
      if (node.kind === 'link') {
        if (hops === 0) return undefined
        const next = resolve(posix.join(posix.dirname(at), node.to), hops - 1)
        if (next === undefined) return undefined
        node = next.node
        at = next.at
      }
    }
    return { node, linked: found.linked, at }
  }

  /** @type {Map<string, Leaf & { linked: boolean }>} */
  const view = new Map()
  const visit = (/** @type {string} */ path, /** @type {number} */ depth) => {
    const found = resolve(path, 40)
    const { node, linked } = found ?? { node: undefined, linked: false }
    if (node?.kind === 'file') view.set(path, { kind: 'file', header: node.header, mode: node.mode, linked })
    else if (node?.kind === 'directory') {
      view.set(path, { kind: 'directory', mode: node.mode, linked })
      if (depth < DEEPEST) for (const name of node.entries.keys()) visit(`${path}/${name}`, depth + 1)
    } else view.set(path, { kind: 'nothing', linked })
  }
  for (const name of merged.keys()) if (name !== '..data') visit(name, 1)
  return view
}
