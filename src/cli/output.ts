import { printable } from '../errors.ts'

/** Writes one line to stdout; control characters in it (from file names) are escaped. */
export function printLine(text: string): void {
  process.stdout.write(`${printable(text)}\n`)
}

/** Writes one object as a line of JSON, whose own escapes leave no control character. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

/** Writes one line to stderr: progress, warnings and errors, which are not the command's output. */
export function tell(command: string, text: string): void {
  process.stderr.write(`inotify-bridge ${command}: ${text}\n`)
}
