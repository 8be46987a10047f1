// Absolute times drift twofold on a shared machine, so subjects are measured by turns (A B C, B C A, ...), and what
// counts is the ratio of two subjects of the same round.

/**
 * @typedef {Record<string, number>} Figures  What a subject measured, by the figure's name.
 * @typedef {Record<string, Figures>} Round   By the subject's name.
 */

/**
 * @param {string[]} subjects
 * @param {number} rounds
 * @param {(subject: string, round: number) => Promise<Figures>} measure
 * @returns {Promise<Round[]>}
 */
export async function measureByTurns(subjects, rounds, measure) {
  const results = []
  for (let round = 0; round < rounds; round++) {
    /** @type {Round} */
    const result = {}
    const first = round % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
      result[subject] = await measure(subject, round)
    }
    results.push(result)
  }
  return results
}

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5)

/**
 * The value that `share` of the values lie below, interpolated between the two nearest. NaN when there are none.
 * @param {readonly number[]} values
 * @param {number} share
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN]
  return low + (high - low) * (at - Math.floor(at))
}

/**
 * A subject's figure in every round that has it: NaN, too, is none.
 * @param {readonly Round[]} rounds
 * @param {string} subject
 * @param {string} figure
 */
export function column(rounds, subject, figure) {
  return rounds.map((round) => round[subject]?.[figure] ?? Number.NaN).filter((value) => !Number.isNaN(value))
}

/**
 * The subject's figure by another's, of the same round: of every round that has both.
 * @param {readonly Round[]} rounds
 * @param {string} subject
 * @param {string} other
 * @param {string} figure
 * @param {string} [otherFigure]
 */
export function ratios(rounds, subject, other, figure, otherFigure = figure) {
  return rounds
    .map((round) => (round[subject]?.[figure] ?? Number.NaN) / (round[other]?.[otherFigure] ?? Number.NaN))
    .filter((value) => !Number.isNaN(value))
}
