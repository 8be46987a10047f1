import { printable } from '../../errors.ts'
import type { Verdict } from '../../mounts/diagnosis/verdict.ts'
import { wrap } from '../shared/help.ts'

/** A verdict, which a tired person reads first, and groups of rows. */
export interface Page {
  readonly verdict: string
  readonly level: Verdict['level']
  readonly groups: ReadonlyArray<readonly Row[]>
}

/** A label, and its text. */
export type Row = readonly [label: string, text: string]

/** The format of the output. */
export interface Paper {
  /** The columns; Infinity for readers by line: lines are not wrapped. */
  readonly width: number
  readonly colour: boolean
}

/** Returns a terminal's width, and colour unless NO_COLOR, TERM=dumb or the like forbid it. Programs read every other stream. */
export function paperOf(stream: NodeJS.WriteStream): Paper {
  if (!stream.isTTY) return { width: Number.POSITIVE_INFINITY, colour: false }
  return { width: Math.max(stream.columns || 80, NARROWEST), colour: stream.hasColors() }
}

/** The least width. Below it, wrapping leaves a word a line. */
const NARROWEST = 40

const SGR = { good: '32', partly: '33', bad: '31', bold: '1', dim: '2' } as const

/** The columns before a row's text. */
const MARGIN = 11

/** Returns the lines of a page, an empty one before each group that has a row. Control characters of the texts are escaped. */
export function linesOf({ verdict, level, groups }: Page, paper: Paper): string[] {
  const style = `${SGR.bold};${SGR[level]}`
  return [
    ...wrap(printable(verdict), paper.width).map((line) => paint(line, style, paper)),
    ...groups
      .filter((rows) => rows.length > 0)
      .flatMap((rows) => ['', ...rows.flatMap((row) => linesOfRow(row, paper))]),
  ]
}

/** Returns a label, and its text in a column of its own. */
function linesOfRow([label, text]: Row, paper: Paper): string[] {
  const [first = '', ...rest] = wrap(printable(text), paper.width - MARGIN)
  const name = paint(label.padEnd(MARGIN - 3), SGR.dim, paper)
  return [`  ${name} ${first}`, ...rest.map((line) => `${' '.repeat(MARGIN)}${line}`)]
}

function paint(text: string, code: string, { colour }: Paper): string {
  return colour ? `\x1b[${code}m${text}\x1b[0m` : text
}
