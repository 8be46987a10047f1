import { printable } from '../../errors.ts'
import type { Verdict } from '../../mounts/diagnosis/verdict.ts'
import { wrap } from '../shared/help.ts'

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

/** Returns a headline, which a tired person reads first. Control characters in it are escaped. */
export function headline(text: string, level: Verdict['level'], paper: Paper): string[] {
  return wrap(printable(text), paper.width).map((line) => paint(line, `${SGR.bold};${SGR[level]}`, paper))
}

/** The columns before a row's text. */
const MARGIN = 11

/** Returns a label, and its text in a column of its own. */
export function row(label: string, text: string, paper: Paper): string[] {
  const [first = '', ...rest] = wrap(printable(text), paper.width - MARGIN)
  const name = paint(label.padEnd(MARGIN - 3), SGR.dim, paper)
  return [`  ${name} ${first}`, ...rest.map((line) => `${' '.repeat(MARGIN)}${line}`)]
}

function paint(text: string, code: string, { colour }: Paper): string {
  return colour ? `\x1b[${code}m${text}\x1b[0m` : text
}
