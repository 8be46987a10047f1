import { invalidArgument, refuseUnknown } from '../errors.ts'

/**
 * The content of a file, as the caller gives it; a string is written as UTF-8.
 * @inline
 */
export type Data = string | Uint8Array

/** The mode of a new file, whatever the umask, as the kubelet has it: the reader is another user, most often. */
export const NEW_FILE_MODE = 0o644

/** Checks a path: a zero byte would end it early, and another file be written than the one named. */
export function pathOf(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.includes('\0'))
    throw invalidArgument(name, value, 'a path: a string that is not empty and has no zero byte')
  // As Node takes it: half of a character stands for no byte (see name_key.ts).
  return value.toWellFormed()
}

/** The bytes to be written; a string's are UTF-8. */
export function bytesOf(name: string, value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw invalidArgument(name, typeof value, 'a string or a Uint8Array')
}

/** The mode that the options ask for; undefined if none. */
export function modeOf(options: { mode?: number }): number | undefined {
  refuseUnknown('options', options, ['mode'])
  const { mode } = options
  if (mode === undefined) return undefined
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777)
    throw invalidArgument('options.mode', mode, 'permission bits from 0 to 0o7777')
  return mode
}
