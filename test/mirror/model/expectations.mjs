// Says what the target of one mirror may show as its sources change.
import { isDeepStrictEqual } from 'node:util'
import { conflictsOf, offerOf } from './expected.mjs'
import { possibilities } from './judge.mjs'

/** @typedef {import('./expected.mjs').Offer} Offer */
/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./session.mjs').Options} Options */

export class Expectations {
  /** The mirrored sources, in their order. @type {readonly Source[]} */
  sources
  #options
  #isSole
  /** The offers that the target may show of each source while the source is beyond the limits or lost. @type {Map<Source, Offer[]>} */
  #shown = new Map()
  /** Sources of which the mirror may not have had a version yet. @type {Set<Source>} */
  #unheard = new Set()
  /** True if two sources have had an entry of one name since all sources were there. A source that lacks the entry since may be lost by now. */
  #isContested = false
  // Since the last quiet moment:
  wasLost = false
  hadConflict = false
  /** A source over the limits lacks what links lead to: `..data`, a key in it, which may be a file beside it by now, or another entry. */
  hasLostLinks = false

  /**
   * From the start of the mirror. What cannot be mirrored together with those before it is left out.
   *
   * @param {readonly Source[]} sources
   * @param {Options} options
   * @param {boolean} isSole a single file, whose target is a file
   */
  constructor(sources, options, isSole) {
    this.#options = options
    this.#isSole = isSole
    this.sources = sources
    while (conflictsOf(this.offers.filter((offer) => offer !== undefined)).length > 0)
      this.sources = this.sources.slice(0, -1)
    for (const source of this.sources) {
      this.#shown.set(source, [])
      this.#unheard.add(source)
    }
    this.settle()
  }

  /** The offer of each source to the mirror now; undefined: the source is lost. */
  get offers() {
    return this.sources.map((source) => {
      const node = source.read()
      const alias = this.#isSole ? 'sole' : `file${source.index}`
      return node && offerOf(node, source.shown, alias, this.#options.limits, this.#options.overLimit)
    })
  }

  /** True if each source has something for the target. */
  get isComplete() {
    return this.offers.every((offer) => offer !== undefined && offer.way !== 'held')
  }

  /** The state of the mirror. */
  get state() {
    const { offers } = this
    if (offers.includes(undefined)) return 'source-lost'
    return offers.every((offer) => offer?.way === 'copied') ? 'mirroring' : 'over-limit'
  }

  /** All that the target may show now; nothing if that cannot be known. */
  get possible() {
    const { offers } = this
    if (this.#isContested && !this.isComplete) return []
    return possibilities(
      this.sources.map((source, i) => {
        const offer = offers[i]
        if (offer !== undefined && offer.way !== 'held') return [offer]
        const before = this.#unheard.has(source) ? [] : (this.#shown.get(source) ?? [])
        // Links into the source lead to what is there now, or nowhere.
        return before.some(({ way }) => way === 'linked') ? [] : before
      }),
    )
  }

  /** Something has changed: what may be seen of it from now on. */
  note() {
    const { offers } = this
    if (offers.includes(undefined)) this.wasLost = true
    for (const [i, source] of this.sources.entries()) {
      const offer = offers[i]
      const shown = this.#shown.get(source)
      if (shown?.some((before) => before.way === 'linked' && leadsNowhere(before, offer)))
        this.hasLostLinks = true
      if (offer === undefined || offer.way === 'held' || isDeepStrictEqual(offer, shown?.at(-1))) continue
      shown?.push(offer)
    }
    this.hadConflict ||= conflictsOf([...this.#shown.values()].flat()).length > 0
    this.#isContested ||= this.hadConflict
  }

  /** A pass has seen what is there now. */
  settle() {
    const { offers } = this
    for (const [i, source] of this.sources.entries()) {
      const offer = offers[i]
      if (offer === undefined || offer.way === 'held') continue
      this.#shown.set(source, [offer])
      this.#unheard.delete(source)
    }
    this.wasLost = offers.includes(undefined)
    this.hadConflict = false
    this.#isContested &&= !this.isComplete
    this.hasLostLinks = false
  }
}

/** Returns true if links to a source's entries or keys now lead to something that the source lacks. @param {Offer} before @param {Offer | undefined} now */
function leadsNowhere(before, now) {
  if (now === undefined) return false
  if (before.isConfigMap && !now.isConfigMap) return true
  // Links among what it has are the target's own, and stay until the mirror has looked.
  const hasLinks = [...before.entries.values()].some(({ kind }) => kind === 'link')
  return isLess(before.behind, now.behind) || (hasLinks && isLess(before.entries, now.entries))
}

/** @param {Offer['behind']} before @param {Offer['behind']} now */
function isLess(before, now) {
  const there = new Set(pathsOf(now))
  return pathsOf(before).some((path) => !there.has(path))
}

/** @param {ReadonlyMap<string, import('./look.mjs').Node> | undefined} entries @returns {string[]} */
function pathsOf(entries) {
  return [...(entries ?? [])].flatMap(([name, node]) => {
    const below = node.kind === 'directory' ? pathsOf(node.entries) : []
    return [name, ...below.map((path) => `${name}/${path}`)]
  })
}
