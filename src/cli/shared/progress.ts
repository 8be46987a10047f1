import type { WriteStream } from 'node:tty'

// There is one terminal, so there is one such line: what stands on it, and nothing if that is ''.
let shown = ''

/** Writes over the line of progress. Only on a terminal: a log has no use for what is soon out of date. */
function show(text: string, terminal: WriteStream): void {
  // A line that the terminal wraps could not be erased. `columns` is 0 where nobody has said how wide it is.
  const width = (terminal.columns || 80) - 1
  terminal.write(`\r${text.padEnd(shown.length).slice(0, width)}`)
  shown = text.slice(0, width)
}

/** To be called before anything else is written. */
export function eraseProgress(terminal: WriteStream = process.stderr): void {
  if (shown !== '') terminal.write(`\r${' '.repeat(shown.length)}\r`)
  shown = ''
}

/** Shows on a terminal how far something is, ten times a second, from the tenth of a second after its start to `stop()`. */
export function reportProgress(describe: () => string, terminal: WriteStream = process.stderr): () => void {
  if (!terminal.isTTY) return () => {}
  const timer = setInterval(() => show(describe(), terminal), 100)
  return () => {
    clearInterval(timer)
    eraseProgress(terminal)
  }
}
