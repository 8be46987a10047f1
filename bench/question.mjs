// The form of a question of the benchmark, and the asking: each question has a file with the parent's side
// (measure) and the child's (answer, which subject.mjs calls).
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
 * @property {string[]} [ratiosTo]  The subjects for comparison.
 * @property {boolean} [isForPlot]  Drawn, and in no table.
 * @property {number} [least]       A subject with less has lost events and is marked, because losing makes fast.
 * @property {number} [most]        A subject with more is marked likewise.
 *
 * @typedef {object} Target
 * @property {string} subject
 * @property {string} figure
 * @property {string} [by]       Judges the ratio to this subject; default: the figure itself, in every round.
 * @property {string} [byFigure] Judges the ratio to this figure, of the same subject unless `by` names another.
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {string} [limit]    The subject with the unavoidable cost. The report shows its own ratio for comparison.
 *
 * @typedef {object} Question
 * @property {string} name
 * @property {string} asks
 * @property {string} [note]     A note that readers of the table need.
 * @property {number} rounds     The number of rounds without --rounds.
 * @property {string[]} subjects
 * @property {Figure[]} figures
 * @property {Target[]} targets  Targets of subjects that are not measured are not judged.
 * @property {(subject: string) => boolean} [isSlow]  Subjects that --quick leaves out.
 * @property {(subject: string, setting: Setting) => Promise<Figures>} measure
 *
 * @typedef {Target & { measured: number, met: boolean, spread?: [number, number], ofLimit?: number }} Verdict  `spread` is
 * set if it is wide: half of the rounds lie in it.
 * @typedef {Record<string, number>} Ratios  By the other subject's name.
 *
 * @typedef {object} Answer
 * @property {Question} question
 * @property {Round[]} rounds
 * @property {Round} medians
 * @property {Record<string, Record<string, Ratios>>} ratios  By subject and figure: the ratios to other subjects.
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

/**
 * Returns the watcher of a subject "WATCHER, SIZE".
 *
 * @param {string} subject
 */
export const watcherOf = (subject) => subject.split(', ')[0] ?? ''

/**
 * A spread is wide if half of the rounds lie further apart than this share of the median: other work of the
 * machine was measured as well.
 */
const WIDE = 0.2

/**
 * Judges a ratio by its median, and a figure alone by its worst round, because the figure is a promise.
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
