import { printable } from '../../errors.ts'
import { UsageError } from '../shared/option.ts'

/** The fields of one event that are printed. */
export interface EventRow {
  /** The watched directory with a slash behind it, or the watched file: %w. */
  watched: string
  /** The name in the directory; '' for an event of the watched file or directory itself: %f. */
  name: string
  /** The event names: %e, as 'CLOSE_WRITE,CLOSE'. */
  events: string
  /** The number that both halves of a rename share: %c; 0 without another half. */
  cookie: number
}

/** The format of inotifywait without `--format`. */
export const PLAIN = '%w %e %f'

/** The conversions of `--format`; `name` escapes a name, or leaves it as it is. */
const CONVERSIONS: Readonly<Record<string, (row: EventRow, name: (text: string) => string) => string>> = {
  w: ({ watched }, name) => name(watched),
  f: (row, name) => name(row.name),
  e: ({ events }) => events,
  c: ({ cookie }) => cookie.toString(16),
  n: () => '\n',
  0: () => '\0',
  '%': () => '%',
}

/**
 * Returns a printer of rows in inotifywait's `--format`. Names are escaped, unless the format has a %0: a NUL can end any name, so names
 * are exact then. Throws UsageError at an unknown conversion.
 */
export function rowFormat(
  format: string,
  timefmt: string | undefined,
  newline: boolean,
): (row: EventRow) => string {
  const found = [...format.matchAll(/([^%]+)|%(?:([wfceTn0%])|(.)e|(.?))/gsu)]
  const name = found.some(([, , letter]) => letter === '0') ? (text: string) => text : printable
  const parts = found.map(([, text, letter = '', separator, unknown]): ((row: EventRow) => string) => {
    if (unknown !== undefined) throw unknownConversion('--format', unknown, '%w %f %e %Xe %T %c %n %0 %%')
    if (text !== undefined) return () => text
    if (separator !== undefined) return ({ events }) => events.replaceAll(',', separator)
    const convert = CONVERSIONS[letter]
    if (convert !== undefined) return (row) => convert(row, name)
    if (timefmt === undefined) throw new UsageError('--format has %T; --timefmt says how to print it')
    const time = timeFormat(timefmt)
    return () => time(new Date())
  })
  return (row) => parts.map((part) => part(row)).join('') + (newline ? '\n' : '')
}

/** Returns what prints a time in a format. Throws UsageError at a conversion that is not known, rather than print another time. */
export function timeFormat(format: string): (time: Date) => string {
  const known = timeParts(new Date())
  for (const [, letter = ''] of format.matchAll(/%(.?)/gsu)) {
    if (Object.hasOwn(known, letter)) continue
    const all = Object.keys(known).map((each) => `%${each}`)
    throw unknownConversion('--timefmt', letter, all.join(' '))
  }
  return (time) => {
    const parts = timeParts(time)
    return format.replace(/%(.)/gsu, (_, letter) => parts[letter] ?? '')
  }
}

/** Returns what strftime(3) makes of a time in the local time zone, by the conversion's letter: what is digits in every locale. */
function timeParts(time: Date): Readonly<Record<string, string>> {
  const two = (value: number) => String(value).padStart(2, '0')
  const Y = String(time.getFullYear())
  const [m, d] = [two(time.getMonth() + 1), two(time.getDate())]
  const [H, M, S] = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())]
  const s = String(Math.floor(time.getTime() / 1000))
  return { F: `${Y}-${m}-${d}`, T: `${H}:${M}:${S}`, s, Y, y: Y.slice(-2), m, d, H, M, S, '%': '%' }
}

function unknownConversion(option: string, letter: string, known: string): UsageError {
  return new UsageError(`${option} does not know '%${printable(letter)}'; it takes ${known}`)
}
