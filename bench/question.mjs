// What a question of the benchmark is, and how it is put: a file each, with the parent's side (measure) and the child's (answer,
// called by subject.mjs).
import { Children } from './children.mjs'
import { column, measureByTurns, median, quantile, ratios } from './rounds.mjs'

/**
 * @typedef {import('./rounds.mjs').Figures} Figures
 * @typedef {import('./rounds.mjs').Round} Round
 * @typedef {{ scratch: import('./scratch.mjs').Scratch, peers: import('./watchers/outside.mjs').Peers }} Tools
 * @typedef {{ scratch: import('./scratch.mjs').Scratch, children: Children, round: number }} Setting
 *
 * @typedef {object} Figure
 * @property {string} name
 * @property {string} unit
 * @property {number} digits
 * @property {string[]} [ratiosTo]  The subjects that it is compared with.
 * @property {boolean} [isForPlot]   It is drawn, and in no table.
 * @property {number} [least]        Whoever has less has lost some: it is marked, for that makes fast.
 * @property {number} [most]         Whoever has more, likewise.
 *
 * @typedef {object} Target
 * @property {string} subject
 * @property {string} figure
 * @property {string} [by]       The ratio to this subject is asked; without it the figure itself, in every round.
 * @property {string} [byFigure] The ratio to this figure, of the same subject if `by` names no other.
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {string} [limit]    What cannot be done without has this subject: its own ratio is told beside, for the reader to see what of it is physical.
 *
 * @typedef {object} Question
 * @property {string} name
 * @property {string} asks
 * @property {string} [note]     What a reader of the table has to know.
 * @property {number} rounds     Unless --rounds says otherwise.
 * @property {string[]} subjects
 * @property {Figure[]} figures
 * @property {Target[]} targets  Of subjects that are measured: others are not judged.
 * @property {(subject: string) => boolean} [isSlow]  --quick does without.
 * @property {(subject: string, setting: Setting) => Promise<Figures>} measure
 *
 * @typedef {Target & { measured: number, met: boolean, spread?: [number, number], ofLimit?: number }} Verdict  The spread, where it is wide: half of the
 * rounds lie in it.
 * @typedef {Record<string, number>} Ratios  By the other's name.
 *
 * @typedef {object} Answer
 * @property {Question} question
 * @property {Round[]} rounds
 * @property {Round} medians
 * @property {Record<string, Record<string, Ratios>>} ratios  Of a subject, of a figure, to another subject.
 * @property {Verdict[]} targets
 */

/**
 * @param {Question} question
 * @param {number} rounds
 * @param {Tools} tools
 * @param {(progress: string) => void} onProgress
 * @returns {Promise<Answer>}
 */
export async function ask(question, rounds, { scratch, peers }, onProgress) {
  const results = await measureByTurns(question.subjects, rounds, async (subject, round) => {
    onProgress(`${question.name}: round ${round + 1} of ${rounds}, ${subject}`)
    const children = new Children(scratch, peers)
    try {
      return await question.measure(subject, { scratch, children, round })
    } finally {
      children.end()
      scratch.clean()
    }
  })
  return {
    question,
    rounds: results,
    medians: bySubject(question, (subject, figure) => median(column(results, subject, figure.name))),
    ratios: bySubject(question, (subject, figure) =>
      Object.fromEntries(
        (figure.ratiosTo ?? []).map((other) => [other, median(ratios(results, subject, other, figure.name))]),
      ),
    ),
    targets: question.targets
      .filter(({ subject, by = subject }) => [subject, by].every((name) => question.subjects.includes(name)))
      .map((target) => judge(target, results)),
  }
}

/**
 * @template T
 * @param {Question} question
 * @param {(subject: string, figure: Figure) => T} value
 * @returns {Record<string, Record<string, T>>}
 */
function bySubject({ subjects, figures }, value) {
  return Object.fromEntries(
    subjects.map((subject) => [
      subject,
      Object.fromEntries(figures.map((figure) => [figure.name, value(subject, figure)])),
    ]),
  )
}

/** The watcher of a subject "WATCHER, SIZE". @param {string} subject */
export const watcherOf = (subject) => subject.split(', ')[0] ?? ''

/** Half of the rounds lie further apart than this share of the median: what else the machine did was measured as well. */
const WIDE = 0.2

/**
 * A ratio is judged by its median; a figure of its own is a promise, and judged by its worst round.
 * @param {Target} target
 * @param {readonly Round[]} rounds
 * @returns {Verdict}
 */
function judge(target, rounds) {
  const { subject, figure, by, byFigure, limit } = target
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = target
  const isMet = (/** @type {number} */ value) => value >= atLeast && value <= atMost
  if (by === undefined && byFigure === undefined) {
    const values = column(rounds, subject, figure)
    const measured = values.find((value) => !isMet(value)) ?? median(values)
    return { ...target, measured, met: isMet(measured) }
  }
  const values = ratios(rounds, subject, by ?? subject, figure, byFigure)
  const measured = median(values)
  const [low, high] = [quantile(values, 0.25), quantile(values, 0.75)]
  const isWide = high - low > WIDE * measured
  return {
    ...target,
    measured,
    met: isMet(measured),
    ...(isWide ? { spread: [low, high] } : {}),
    ...(limit === undefined ? {} : { ofLimit: median(ratios(rounds, limit, by ?? limit, figure, byFigure)) }),
  }
}
