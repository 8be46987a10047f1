// Makes the manual page of the command, man/inotify-bridge.1, of what out/ has: the descriptions that --help and the completion are made of as well.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const { COMMANDS } = await import(join(root, 'out/cli/commands.js'))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A text as roff takes it: a line that begins with a point or an apostrophe would be a request. @param {string} text */
const roff = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')

/** Paragraphs; those with a line that begins with a space stay as they are. @param {string} text */
const paragraphs = (text) =>
  text
    .split('\n\n')
    .flatMap((each) => (/^ /m.test(each) ? ['.PP', '.nf', roff(each), '.fi'] : ['.PP', roff(each)]))

/** @param {[name: string, option: { short?: string, argument?: string, text: string }]} entry */
const optionOf = ([name, { short, argument, text }]) => {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${name}`].map(
    (each) => `\\fB${roff(each)}\\fR`,
  )
  return [
    '.TP',
    `${names.join(', ')}${argument === undefined ? '' : ` \\fI${roff(argument)}\\fR`}`,
    roff(text),
  ]
}

const lines = [
  `.TH INOTIFY\\-BRIDGE 1 "" "inotify\\-bridge ${version}"`,
  '.SH NAME',
  'inotify\\-bridge \\- watch files, mirror mounts that deliver no events, publish and reload',
  '.SH SYNOPSIS',
  '\\fBinotify\\-bridge\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...',
  '.SH COMMANDS',
]
for (const [name, load] of COMMANDS) lines.push('.TP', `\\fB${roff(name)}\\fR`, roff((await load()).summary))
for (const [name, load] of COMMANDS) {
  const { usage, about, options, notes, examples } = await load()
  const calls = usage.map((/** @type {string} */ each) => roff(`inotify-bridge ${name} ${each}`.trimEnd()))
  lines.push(`.SH ${roff(name).toUpperCase()}`, '.nf', ...calls, '.fi', ...paragraphs(about))
  lines.push(...Object.entries(options).flatMap(optionOf), ...paragraphs(notes))
  lines.push(
    '.PP',
    'Examples:',
    '.PP',
    '.nf',
    ...examples.map((/** @type {string} */ each) => roff(`  ${each}`)),
    '.fi',
  )
}
mkdirSync(join(root, 'man'), { recursive: true })
writeFileSync(join(root, 'man/inotify-bridge.1'), `${lines.join('\n')}\n`)
