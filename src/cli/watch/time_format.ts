import { printable } from '../../errors.ts'
import { UsageError } from '../shared/option.ts'

const padded = (value: number) => String(value).padStart(2, '0')

// As strftime(3) has them, in the local time zone: what is digits in every locale.
const CONVERSIONS = new Map<string, (time: Date) => string>([
  ['F', (time) => `${time.getFullYear()}-${padded(time.getMonth() + 1)}-${padded(time.getDate())}`],
  ['T', (time) => `${padded(time.getHours())}:${padded(time.getMinutes())}:${padded(time.getSeconds())}`],
  ['s', (time) => String(Math.floor(time.getTime() / 1000))],
  ['Y', (time) => String(time.getFullYear())],
  ['y', (time) => padded(time.getFullYear() % 100)],
  ['m', (time) => padded(time.getMonth() + 1)],
  ['d', (time) => padded(time.getDate())],
  ['H', (time) => padded(time.getHours())],
  ['M', (time) => padded(time.getMinutes())],
  ['S', (time) => padded(time.getSeconds())],
  ['%', () => '%'],
])

/** Returns what prints a time in a format. Throws UsageError at a conversion that is not known, rather than print another time. */
export function timeFormat(format: string): (time: Date) => string {
  for (const [, letter = ''] of format.matchAll(/%(.?)/gsu)) {
    if (CONVERSIONS.has(letter)) continue
    const known = [...CONVERSIONS.keys()].map((one) => `%${one}`).join(' ')
    throw new UsageError(`--timefmt does not know '%${printable(letter)}'; it takes ${known}`)
  }
  return (time) => format.replace(/%(.)/gsu, (_, letter) => CONVERSIONS.get(letter)?.(time) ?? '')
}
