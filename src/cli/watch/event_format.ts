import { printable } from '../../errors.ts'
import { UsageError } from '../shared/command.ts'
import { timeFormat } from './time_format.ts'

/** What is printed of one event. */
export interface EventRow {
  /** %w: the watched directory, with a slash behind it, or the watched file. */
  watched: string
  /** %f: the name in it, or ''. */
  name: string
  /** %e: 'CLOSE_WRITE,CLOSE' */
  events: string
  /** %c: the same for the two halves of a rename; 0 where there is no other half. */
  cookie: number
}

type Part = (row: EventRow) => string

/** As inotifywait without a format prints it. */
export function plainLine({ watched, name, events }: EventRow): string {
  return `${printable(watched)} ${events} ${printable(name)}\n`
}

/** As inotifywait --csv prints it, but for the control characters. */
export function csvLine({ watched, name, events }: EventRow): string {
  return `${csvField(printable(watched))},${csvField(events)},${csvField(printable(name))}\n`
}

function csvField(text: string): string {
  return /[",]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * A row in inotifywait's `--format`. Names are escaped, unless there is a %0: then a NUL ends what may hold anything, and they are
 * exact. Throws UsageError at a conversion that is not known.
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

/** The time now; made anew once a second, which is as fine as strftime(3) is. */
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
