// An answer as text for people, and as data for programs.

/**
 * @param {import('./question.mjs').Answer} answer
 * @returns {string}
 */
export function asText({ question, rounds, medians, ratios, targets }) {
  const figures = question.figures.filter((figure) => !figure.isForPlot)
  const head = ['']
  for (const figure of figures) {
    head.push(
      [figure.name, figure.unit].filter(Boolean).join(', '),
      ...(figure.ratiosTo ?? []).map((other) => `/ ${other}`),
    )
  }
  const rows = question.subjects.map((subject) => {
    const row = [marked(subject, figures, medians[subject])]
    for (const figure of figures) {
      row.push(shown(medians[subject]?.[figure.name], figure.digits))
      row.push(...(figure.ratiosTo ?? []).map((other) => shown(ratios[subject]?.[figure.name]?.[other], 2)))
    }
    return row
  })
  const verdicts = targets.map((target) => {
    const { subject, figure, by, byFigure, atLeast, atMost, measured, met, spread, limit, ofLimit } = target
    const asked = [
      atLeast === undefined ? [] : `>= ${atLeast}`,
      atMost === undefined ? [] : `<= ${atMost}`,
    ].flat()
    const others = [by, byFigure].filter((other) => other !== undefined).map((other) => ` / ${other}`)
    const what = `${subject}: ${figure}${others.join('')} ${asked.join(' and ')}`
    const noise =
      spread === undefined ? '' : `; noisy, half of the rounds: ${spread.map(rounded).join(' to ')}`
    const beside = ofLimit === undefined ? '' : `; ${limit}: ${rounded(ofLimit)}`
    return `  ${met ? 'met    ' : 'NOT MET'}  ${what}  (${rounded(measured)}${noise}${beside})`
  })
  const note = question.note === undefined ? [] : [question.note]
  const title = `${question.name}: ${question.asks} (medians of ${rounds.length} rounds)`
  return [title, ...table([head, ...rows]), ...note, ...verdicts].join('\n')
}

/** @param {number} value */
const rounded = (value) => Number(value.toPrecision(4))

/**
 * Returns a subject's name, with a mark if the subject has lost events: lost events cost no time.
 * @param {string} subject
 * @param {readonly import('./question.mjs').Figure[]} figures
 * @param {Record<string, number | null> | undefined} medians
 */
export function marked(subject, figures, medians) {
  const lost = figures.some(({ name, least, most }) => {
    const value = medians?.[name]
    return value != null && (value < (least ?? value) || value > (most ?? value))
  })
  return lost ? `${subject} (lost some)` : subject
}

/** @param {import('./question.mjs').Answer} answer */
export function asData({ question, rounds, medians, ratios, targets }) {
  const { name, asks, note, figures } = question
  return { name, asks, note, figures, medians, ratios, targets, rounds }
}

/**
 * JSON with a line for each subject's figures, as in a table: what holds no object or list is not broken up, but for its end.
 * @param {unknown} value
 * @param {string} [indent]
 * @returns {string}
 */
export function asLines(value, indent = '') {
  const isFlat = (/** @type {unknown} */ each) => typeof each !== 'object' || each === null
  if (isFlat(value) || Object.values(/** @type {object} */ (value)).every(isFlat))
    return JSON.stringify(value)
  const below = `${indent}  `
  const isList = Array.isArray(value)
  const parts = Object.entries(/** @type {object} */ (value)).map(
    ([key, each]) => `${below}${isList ? '' : `${JSON.stringify(key)}: `}${asLines(each, below)}`,
  )
  return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${indent}${isList ? ']' : '}'}`
}

/**
 * @param {number | undefined} value
 * @param {number} digits
 */
function shown(value, digits) {
  return value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits)
}

/**
 * The first column to the left, numbers to the right.
 * @param {string[][]} rows
 */
function table(rows) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map((row) => {
    const cells = row.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0),
    )
    return `  ${cells.join('  ')}`.trimEnd()
  })
}
