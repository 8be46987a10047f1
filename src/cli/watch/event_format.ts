import { printable } from '../../errors.ts'
import { UsageError } from '../shared/option.ts'
import { timeFormat } from './time_format.ts'

/** The fields of one event that are printed. */
export interface EventRow {
  /** The watched directory with a slash behind it, or the watched file: %w. */
  watched: string
  /** The name in the directory, or '': %f. */
  name: string
  /** The event names: %e, as 'CLOSE_WRITE,CLOSE'. */
  events: string
  /** The number that both halves of a rename share: %c; 0 without another half. */
  cookie: number
}

type Part = (row: EventRow) => string

/** Returns a row as inotifywait prints it without a format. */
export function plainLine({ watched, name, events }: EventRow): string {
  return `${printable(watched)} ${events} ${printable(name)}\n`
}

/** Returns a row as inotifywait --csv prints it, but for the control characters. */
export function csvLine({ watched, name, events }: EventRow): string {
  return `${csvField(printable(watched))},${csvField(events)},${csvField(printable(name))}\n`
}

function csvField(text: string): string {
  return /[",]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * Returns a printer of rows in inotifywait's `--format`. Names are escaped, unless the format has a %0: a NUL can end any name, so names
 * are exact then. Throws UsageError at an unknown conversion.
 */
export function rowFormat(format: string, timefmt: string | undefined, newline: boolean): Part {
  const parts: Part[] = []
  const conversions = [...format.matchAll(/([^%]+)|%(?:([wfceTn0%])|(.)e|(.?))/gsu)]
  const name = conversions.some(([, , letter]) => letter === '0') ? (text: string) => text : printable
  for (const [, text, letter, separator, unknown] of conversions) {
    if (unknown !== undefined) {
      const known = '%w %f %e %Xe %T %c %n %0 %%'
      throw new UsageError(`--format does not know '%${printable(unknown)}'; it takes ${known}`)
    }
    if (text !== undefined) parts.push(() => text)
    else if (separator !== undefined) parts.push(({ events }) => events.replaceAll(',', separator))
    else if (letter === 'T') parts.push(clock(timefmt))
    else parts.push(conversion(letter as string, name))
  }
  if (newline) parts.push(() => '\n')
  return (row) => parts.map((part) => part(row)).join('')
}

function conversion(letter: string, name: (text: string) => string): Part {
  switch (letter) {
    case 'w':
      return ({ watched }) => name(watched)
    case 'f':
      return (row) => name(row.name)
    case 'e':
      return ({ events }) => events
    case 'c':
      return ({ cookie }) => cookie.toString(16)
    case 'n':
      return () => '\n'
    case '0':
      return () => '\0'
    default:
      return () => '%'
  }
}

/** Returns a printer of the time now, made anew once a second, as strftime(3) is no finer. */
function clock(timefmt: string | undefined): Part {
  if (timefmt === undefined) throw new UsageError('--format has %T; --timefmt says how to print it')
  const format = timeFormat(timefmt)
  let [second, text] = [Number.NaN, '']
  return () => {
    const now = Math.floor(Date.now() / 1000)
    if (now !== second) [second, text] = [now, format(new Date(now * 1000))]
    return text
  }
}
