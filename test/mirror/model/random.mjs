/** Random numbers that one number decides: a step of a round goes the same way again when the steps around it are left out. */
export class Choice {
  #state

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0
  }

  /** From 0 to `n` - 1 (mulberry32). @param {number} n */
  below(n) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n
  }

  /** @param {number} percent */
  isLikely(percent) {
    return this.below(100) < percent
  }

  /** @template T @param {readonly T[]} all @returns {T} */
  of(all) {
    if (all.length === 0) throw new Error('nothing to choose from')
    return /** @type {T} */ (all[this.below(all.length)])
  }

  /** Some of them, in their order. @template T @param {readonly T[]} all @param {number} percent */
  some(all, percent) {
    return all.filter(() => this.isLikely(percent))
  }
}
