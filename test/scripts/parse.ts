import { type Given, give, type Operation, operations } from './operations.ts'
import { spell, splitWords, type Word } from './words.ts'

export const SOURCES = ['inotify', 'poll'] as const
export type Source = (typeof SOURCES)[number]

/**
 * The only way in which a script can be played: with one of the sources, as root, or as a user other than
 * root.
 */
export type Who = Source | 'root' | 'user'

/** The changes that one source must tell of a block of operations. 'anything': the replay alone decides. */
export type Expectation = 'anything' | Group[]

/** Lines that follow each other in the script, in any order if the group is loose. */
export interface Group {
  loose: boolean
  lines: string[]
}

export interface Step {
  line: number
  text: string
  operation: Operation
  given: Given
}

export interface Block {
  /** The line of the first expectation, or of a watch without one. */
  line: number
  steps: Step[]
  expected: Record<Source, Expectation>
  /** The script states expectations. */
  isStated: boolean
}

export interface Watch {
  roots: Word[]
  recursive: boolean
  initial: boolean
  follow: boolean
  bytes: boolean
  settle: number | undefined
  ignore: Array<string | RegExp>
}

export interface Script {
  file: string
  /** The first comment. */
  promise: string
  only: Array<{ who: Who; reason: string }>
  setUp: Step[]
  watch: Watch
  /** The first block is the watch itself, with the changes before `ready`. */
  blocks: Block[]
}

/** A mistake in a script. */
export class ScriptError extends Error {
  override name = 'ScriptError'
  constructor(file: string, line: number, reason: string) {
    super(`${file}:${line}: ${reason}`)
  }
}

const EXPECTED = /^(inotify|poll)?([=~])(?=\s|$)/
const TYPES = ['create', 'modify', 'attrib', 'delete', 'rename', 'exchange']
const KINDS = ['file', 'directory', 'symlink', 'other']
const ROOT_TYPES = ['overflow', 'recovered', 'lost', 'restored']

/** Reads a script. Throws ScriptError. */
export function parse(text: string, file: string): Script {
  const reader = new Reader()
  try {
    for (const [i, line] of text.split('\n').entries()) reader.read(line.trim(), i + 1)
    return { file, ...reader.end() }
  } catch (error) {
    throw new ScriptError(file, reader.line, (error as Error).message)
  }
}

interface Draft {
  line: number
  isWatch: boolean
  steps: Step[]
  expected: Array<{ source: Source; loose: boolean; line: string }>
}

class Reader {
  /** The line of the last statement, which an error names. */
  line = 1
  #promise: string | undefined
  #watch: Watch | undefined
  #draft: Draft | undefined
  readonly #only: Script['only'] = []
  readonly #setUp: Step[] = []
  readonly #blocks: Block[] = []

  read(text: string, line: number): void {
    if (text === '') return
    if (text.startsWith('#')) {
      this.#promise ??= text.slice(1).trim()
      return
    }
    const expected = EXPECTED.exec(text)
    if (expected === null) this.#endWhatIsOver()
    this.line = line
    const [head, ...words] = splitWords(text)
    const name = head?.quoted ? '' : (head?.text ?? '')
    if (expected !== null) this.#expect(expected[1] as Source | undefined, expected[2] === '~', words)
    else if (name === 'only') this.#readOnly(text)
    else if (name === 'watch') this.#beginWatch(words)
    else this.#operate(name, words, text)
  }

  end(): Omit<Script, 'file'> {
    if (this.#draft !== undefined) this.#endBlock(this.#draft)
    if (this.#watch === undefined) throw new Error("nothing is watched: a 'watch' line is missing")
    if (!this.#promise) throw new Error('a comment that says what is promised is missing')
    if (this.#blocks.every(({ isStated }) => !isStated)) throw new Error('nothing is expected')
    return {
      promise: this.#promise,
      only: this.#only,
      setUp: this.#setUp,
      watch: this.#watch,
      blocks: this.#blocks,
    }
  }

  #readOnly(text: string): void {
    const [, who, reason] = /^only (inotify|poll|root|user): (.+)$/.exec(text) ?? []
    if (who === undefined || reason === undefined) {
      throw new Error("usage: 'only inotify: REASON', or poll, root, user")
    }
    if (this.#watch !== undefined) throw new Error("'only' stands before 'watch'")
    this.#only.push({ who: who as Who, reason })
  }

  #beginWatch(words: Word[]): void {
    if (this.#watch !== undefined) throw new Error('a script watches once (add ROOT adds a root)')
    this.#watch = readWatch(words)
    this.#draft = { line: this.line, isWatch: true, steps: [], expected: [] }
  }

  #operate(name: string, words: Word[], text: string): void {
    const operation = operations.get(name)
    if (operation === undefined) {
      const all = [...operations.keys(), 'watch', 'only']
      throw new Error(`unknown operation ${name}; there are ${all.join(', ')}`)
    }
    const step = { line: this.line, text, operation, given: give(operation.usage, words) }
    if (this.#watch === undefined) this.#setUp.push(step)
    else {
      this.#draft ??= { line: this.line, isWatch: false, steps: [], expected: [] }
      this.#draft.steps.push(step)
    }
  }

  #expect(source: Source | undefined, loose: boolean, words: Word[]): void {
    if (this.#draft === undefined) throw new Error('nothing is told before the watch')
    const line = readExpected(words)
    if (source !== undefined && !this.#sources.includes(source)) {
      throw new Error(`the script is not played on ${source}`)
    }
    if (this.#draft.expected.length === 0) this.#draft.line = this.line
    for (const each of source === undefined ? this.#sources : [source]) {
      this.#draft.expected.push({ source: each, loose, line })
    }
  }

  #endWhatIsOver(): void {
    if (this.#draft?.isWatch || this.#draft?.expected.length) this.#endBlock(this.#draft)
  }

  #endBlock({ line, isWatch, steps, expected }: Draft): void {
    const told: Block['expected'] = { inotify: [], poll: [] }
    const isStated = expected.length > 0
    // A watch expects no changes unless the script says so.
    for (const source of isWatch && !isStated ? [] : this.#sources) {
      const lines = expected.filter((each) => each.source === source)
      if (lines.length === 0) throw new Error(`what does ${source} tell here? ('= nothing' is an answer)`)
      told[source] = groupsOf(lines)
    }
    this.#blocks.push({ line, steps, expected: told, isStated })
    this.#draft = undefined
  }

  get #sources(): readonly Source[] {
    const only = SOURCES.filter((source) => this.#only.some(({ who }) => who === source))
    return only.length > 0 ? only : SOURCES
  }
}

function groupsOf(lines: ReadonlyArray<{ loose: boolean; line: string }>): Expectation {
  for (const single of ['nothing', 'anything'] as const) {
    if (!lines.some(({ line }) => line === single)) continue
    if (lines.length > 1) throw new Error(`'${single}' stands alone`)
    return single === 'anything' ? single : []
  }
  const groups: Group[] = []
  for (const { loose, line } of lines) {
    const last = groups.at(-1)
    if (loose && last?.loose) last.lines.push(line)
    else groups.push({ loose, lines: [line] })
  }
  return groups
}

/** The expected line, as {@link spell} would have it. */
function readExpected(words: Word[]): string {
  const [type = '', kind = '', ...paths] = words.map(({ text }) => text)
  const only = words.length === 1 && !words[0]?.quoted ? type : ''
  if (only === 'nothing' || only === 'anything') return only
  const isReplacing = type === 'rename' && paths.length === 3 && paths[2] === 'replaced'
  const isExchange = type === 'exchange' && paths.length === 3 && KINDS.includes(paths[1] ?? '')
  const isEntry = TYPES.includes(type) && KINDS.includes(kind)
  const isRight = ROOT_TYPES.includes(type)
    ? words.length === 2
    : isEntry &&
      (type === 'exchange' ? isExchange : isReplacing || paths.length === (type === 'rename' ? 2 : 1))
  if (isRight) return words.map(({ text }) => spell(text)).join(' ')
  throw new Error(
    `expected 'TYPE KIND PATH', 'rename KIND FROM TO [replaced]', 'exchange KIND PATH KIND PATH', 'lost ROOT', 'restored ROOT', ` +
      `'nothing' or 'anything'; TYPE: ${TYPES.join(', ')}; KIND: ${KINDS.join(', ')}`,
  )
}

const WATCH_USAGE =
  'watch [ROOT...] [-r] [--initial] [--follow] [--settle MS] [--ignore PATH|/REGEXP/]... [--bytes]'

function readWatch(words: Word[]): Watch {
  const watch: Watch = {
    roots: [],
    recursive: false,
    initial: false,
    follow: false,
    bytes: false,
    settle: undefined,
    ignore: [],
  }
  const rest = [...words]
  const value = (option: string) => {
    const word = rest.shift()
    if (word === undefined) throw new Error(`${option} needs a value; usage: ${WATCH_USAGE}`)
    return word.text
  }
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.quoted || !word.text.startsWith('-')) watch.roots.push(word)
    else if (word.text === '-r') watch.recursive = true
    else if (word.text === '--initial') watch.initial = true
    else if (word.text === '--follow') watch.follow = true
    else if (word.text === '--bytes') watch.bytes = true
    else if (word.text === '--settle') watch.settle = Number(value('--settle'))
    else if (word.text === '--ignore') watch.ignore.push(readIgnore(value('--ignore')))
    else throw new Error(`unknown option ${word.text}; usage: ${WATCH_USAGE}`)
  }
  if (Number.isNaN(watch.settle)) throw new Error(`--settle takes ms; usage: ${WATCH_USAGE}`)
  if (watch.roots.length === 0) watch.roots.push({ text: '.', quoted: false })
  return watch
}

function readIgnore(text: string): string | RegExp {
  const pattern = /^\/(.+)\/$/.exec(text)?.[1]
  return pattern === undefined ? text : new RegExp(pattern)
}
