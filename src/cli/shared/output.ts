import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { escapeInvisible, INVISIBLE, type InotifyError, messageOf, printable } from '../../errors.ts'
import { eraseProgress } from './progress.ts'

/** Writes one line to stdout; control characters and the like in it (from file names) are escaped. */
export function printLine(text: string): void {
  eraseProgress()
  process.stdout.write(`${printable(text)}\n`)
}

/** Writes styled lines to stdout as they are. Callers have escaped all text from outside; the colours are ours. */
export function printStyled(lines: readonly string[]): void {
  eraseProgress()
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/** Writes one object to stdout as a line of JSON. */
export function printJson(value: unknown): void {
  eraseProgress()
  process.stdout.write(jsonLine(value))
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
