import type { Command } from './command.ts'
import type { Option } from './option.ts'

const WIDTH = 110
/** Columns before the text of an option. */
const MARGIN = 30

/** Returns the text of --help. */
export function helpOf(name: string, { usage, about, options, notes, examples }: Command): string {
  const own = Object.entries(options).map(([each, described]) => optionHelp(each, described))
  const lines = [
    ...usage.map((each, n) => `${n === 0 ? 'usage: ' : '       '}inotify-bridge ${name} ${each}`.trimEnd()),
    '',
    ...filled(about),
    '',
    ...own,
    '  -h, --help',
    '',
    ...filled(notes),
    '',
    'Examples:',
    ...examples.map((each) => `  ${each}`),
  ]
  return `${lines.join('\n')}\n`
}

/** `-e, --event NAMES`, and the text in a column of its own. */
function optionHelp(name: string, { short, argument, text }: Option): string {
  const names = `${short === undefined ? '   ' : `-${short},`} --${name}${argument === undefined ? '' : ` ${argument}`}`
  return `  ${names}  `.padEnd(MARGIN) + wrap(text, WIDTH - MARGIN).join(`\n${' '.repeat(MARGIN)}`)
}

/** Paragraphs, filled, but for those with a line that begins with a space. */
function filled(text: string): string[] {
  return text.split('\n\n').flatMap((paragraph, n) => {
    const lines = /^ /m.test(paragraph) ? paragraph.split('\n') : wrap(paragraph.replaceAll('\n', ' '), WIDTH)
    return n === 0 ? lines : ['', ...lines]
  })
}

/** Breaks at spaces. A word that is too long, a path, stays whole: it is to be copied. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
