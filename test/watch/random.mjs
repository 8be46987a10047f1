// Also for programs that tests start: JavaScript, which needs no build.

/**
 * Returns a generator of numbers from 0 to n - 1, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 * @returns {(n: number) => number}
 */
export function randomFrom(seed) {
  let state = seed
  return (n) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}
