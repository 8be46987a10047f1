import type { Readable } from 'node:stream'
import { printable } from '../../errors.ts'
import type { Reloader } from '../../reload/reloader.ts'
import { listed, printsObjects, report, tell } from '../shared/output.ts'

/** Lines of what a program wrote, or a server answered: 64 KiB of empty ones, at each try, would fill the log. */
const OUTPUT_LINES = 100

/** Reports what a reloader does: what failed on stderr, unless as an object. */
export function reportReload(reloader: Reloader): void {
  reloader.on('reload', (reload) =>
    report('reload', reload, `reload ${reload.digest.slice(0, 12)}: ${listed(reload.changed)}`),
  )
  reloader.on('recovered', () => report('recovered', {}, 'recovered: the last good content is back'))
  reloader.on('failed', (failure) => {
    if (printsObjects()) return report('failed', failure, '')
    tell(`${failure.stage} failed: ${failure.reason}`)
    const lines = failure.output.split('\n').filter((line) => line !== '')
    const more = lines.length - OUTPUT_LINES
    if (more > 0) tell(`| (${more} lines before these)`)
    for (const line of lines.slice(-OUTPUT_LINES)) tell(`| ${printable(line)}`)
  })
  reloader.on('output', (stream, name) => (printsObjects() ? reportOutput : passOn)(stream, name))
  // It is tried again.
  reloader.on('error', (error) => tell(error))
}

/** Passes what a program writes on, no faster than it is taken. */
function passOn(stream: Readable, name: 'stdout' | 'stderr'): void {
  const to = process[name]
  // A reader that has gone does not hold the program up.
  to.once('unpipe', () => stream.resume())
  stream.pipe(to, { end: false })
  stream.once('close', () => stream.unpipe(to))
}

function reportOutput(stream: Readable, name: 'stdout' | 'stderr'): void {
  const decoder = new TextDecoder()
  stream.on('data', (chunk: Buffer) =>
    report('output', { stream: name, text: decoder.decode(chunk, { stream: true }) }, ''),
  )
}
