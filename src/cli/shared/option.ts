/** An option as --help, parseArgs(), the manual page and the completion have it. */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** The name of its value in --help; undefined for a flag. */
  readonly argument?: string
  readonly text: string
}

export type Options = Readonly<Record<string, Option>>

const shortOf = (short?: string) => (short === undefined ? {} : { short })

/** An option without a value. */
export const flag = (text: string, short?: string) => ({ type: 'boolean', text, ...shortOf(short) }) as const

/** An option with a value. */
export const option = (argument: string, text: string, short?: string) =>
  ({ type: 'string', argument, text, ...shortOf(short) }) as const

/** The same, which may be given more than once. */
export const repeated = (argument: string, text: string, short?: string) =>
  ({ ...option(argument, text, short), multiple: true }) as const

export const JSON_OPTION = flag('an object a line, on stderr as well')
