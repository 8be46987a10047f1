import { printable } from '../../errors.ts'
import { UsageError } from '../shared/command.ts'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

type Conversion = (time: Date) => string

// strftime(3) in the C locale, the local time zone. Not %Z: JavaScript does not know a zone's abbreviation in all of them.
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  a: (time) => weekday(time).slice(0, 3),
  A: (time) => weekday(time),
  b: (time) => month(time).slice(0, 3),
  B: (time) => month(time),
  C: (time) => padded(Math.floor(time.getFullYear() / 100)),
  d: (time) => padded(time.getDate()),
  e: (time) => padded(time.getDate(), 2, ' '),
  H: (time) => padded(time.getHours()),
  I: (time) => padded(hourOf12(time)),
  j: (time) => padded(dayOfYear(time), 3),
  k: (time) => padded(time.getHours(), 2, ' '),
  l: (time) => padded(hourOf12(time), 2, ' '),
  m: (time) => padded(time.getMonth() + 1),
  M: (time) => padded(time.getMinutes()),
  n: () => '\n',
  p: (time) => (time.getHours() < 12 ? 'AM' : 'PM'),
  P: (time) => (time.getHours() < 12 ? 'am' : 'pm'),
  s: (time) => String(Math.floor(time.getTime() / 1000)),
  S: (time) => padded(time.getSeconds()),
  t: () => '\t',
  u: (time) => String(time.getDay() || 7),
  w: (time) => String(time.getDay()),
  y: (time) => padded(time.getFullYear() % 100),
  Y: (time) => String(time.getFullYear()),
  z: (time) => offset(-time.getTimezoneOffset()),
  '%': () => '%',
}

const SHORTHANDS: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  h: '%b',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
}

/** A time in a format of strftime(3). Throws UsageError at a conversion that is not known, rather than print another time. */
export function timeFormat(format: string): (time: Date) => string {
  const spelt = format.replace(/%(.)/gsu, (conversion, letter) => SHORTHANDS[letter] ?? conversion)
  const parts: Array<string | Conversion> = []
  for (const [, text, letter] of spelt.matchAll(/([^%]+)|%(.?)/gsu)) parts.push(text ?? conversionOf(letter))
  return (time) => parts.map((part) => (typeof part === 'string' ? part : part(time))).join('')
}

function conversionOf(letter = ''): Conversion {
  const conversion = Object.hasOwn(CONVERSIONS, letter) ? CONVERSIONS[letter] : undefined
  if (conversion !== undefined) return conversion
  const known = [...Object.keys(CONVERSIONS), ...Object.keys(SHORTHANDS)].map((one) => `%${one}`).join(' ')
  const instead = letter === 'Z' ? ' (%z gives the offset)' : ''
  throw new UsageError(`--timefmt does not know '%${printable(letter)}'${instead}; it takes ${known}`)
}

function weekday(time: Date): string {
  return WEEKDAYS[time.getDay()] as string
}

function month(time: Date): string {
  return MONTHS[time.getMonth()] as string
}

function hourOf12(time: Date): number {
  return time.getHours() % 12 || 12
}

function dayOfYear(time: Date): number {
  const [year, day] = [time.getFullYear(), Date.UTC(time.getFullYear(), time.getMonth(), time.getDate())]
  return (day - Date.UTC(year, 0, 1)) / 86_400_000 + 1
}

function offset(minutes: number): string {
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${padded(Math.floor(size / 60))}${padded(size % 60)}`
}

function padded(number: number, length = 2, fill = '0'): string {
  return String(number).padStart(length, fill)
}
