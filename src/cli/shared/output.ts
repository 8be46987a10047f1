import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { escapeInvisible, INVISIBLE, type InotifyError, messageOf, printable } from '../../errors.ts'
import { eraseProgress } from './progress.ts'

/** Writes text to stdout as it is. */
export function printText(text: string): void {
  eraseProgress()
  process.stdout.write(text)
}

/** Returns an object as a line of JSON, with escapes for all invisible characters: JSON itself escapes only those below the space. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value).replace(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${text}\n`
}

// The characters that are gathered for one write: as much as a pipe holds.
const CHUNK = 64 * 1024

/**
 * Writes much to stdout, in few writes, at most one of them ahead of the reader. Resolves when all is written; or when the signal aborts
 * while the reader keeps it waiting, with the rest unwritten.
 */
export async function print(
  pieces: Iterable<string>,
  signal: AbortSignal,
  output: Writable = process.stdout,
): Promise<void> {
  let chunk = ''
  for (const piece of pieces) {
    chunk += piece
    if (chunk.length < CHUNK) continue
    await write(chunk, signal, output)
    if (signal.aborted) return
    chunk = ''
  }
  if (chunk !== '') await write(chunk, signal, output)
}

async function write(chunk: string, signal: AbortSignal, output: Writable): Promise<void> {
  // Nothing is heaped up for a reader that does not take it.
  if (signal.aborted && output.writableNeedDrain) return
  eraseProgress()
  if (output.write(chunk)) return
  // Rejects where the signal aborts, and where the stream fails, which main handles.
  await once(output, 'drain', { signal }).catch(() => {})
}

// Before main has found the command it is undefined.
let command: string | undefined
let asObjects = false

/** Sets whose output it is, and its form: objects with `--json`. */
export function setForm(of: string, json: boolean): void {
  command = of
  asObjects = json
}

/** Returns true with `--json`. */
export function printsObjects(): boolean {
  return asObjects
}

/** Returns the fields of an error that programs read beside its message. */
export function fieldsOf(error: unknown) {
  const { code, syscall, path, hint } = Object(error) as Partial<InotifyError>
  return { code, syscall, path, hint }
}

/**
 * Writes a warning or error, no output of the command, to stderr as a line; with `--json` as an object. Own messages have names escaped.
 * Others' messages (Node's have paths as they are) are escaped here, to be one line all the same.
 */
export function tell(
  said: unknown,
  level: 'error' | 'warning' | 'info' = 'error',
  fields: object = fieldsOf(said),
): void {
  eraseProgress()
  const message = messageOf(said)
  const from = command === undefined ? 'inotify-bridge' : `inotify-bridge ${command}`
  const told = { time: new Date().toISOString(), level, event: level, command, ...fields, message }
  const line = `${from}: ${level === 'warning' ? 'warning: ' : ''}${escapeInvisible(message)}\n`
  process.stderr.write(asObjects ? jsonLine(told) : line)
}

/** Tells what has happened: as words, or as one object with `--json`. */
export type Report = (event: string, fields: object, text: string) => void

/** Reports to stdout, a line each. */
export const report: Report = (event, fields, text) =>
  printText(asObjects ? jsonLine({ event, ...fields }) : `${printable(text)}\n`)

/** Reports to stderr, for commands whose stdout is another program's. */
export const reportOnStderr: Report = (event, fields, text) => {
  if (asObjects) process.stderr.write(jsonLine({ event, ...fields }))
  else tell(printable(text), 'info')
}

// The most names in a line; an object has all. A directory that others write may have 65,536 a change: megabytes.
const NAMES = 20

/** Joins names for a line of text. */
export function listed(names: readonly string[]): string {
  const more = names.length - NAMES
  return names.slice(0, NAMES).join(' ') + (more > 0 ? ` and ${more} more` : '')
}
