import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import type { Watcher } from '../../src/watch/watcher.ts'
import { compile } from '../support/compile.ts'
import { bytesOf, type Word } from './words.ts'

/** The world that a script's operations change. */
export interface World {
  path(word: Word): Buffer
  /** The descriptors that are held open, by handle, with the @. */
  held: Map<string, number>
  /** Set after the script's `watch`. */
  watcher?: Watcher
}

/** The words of a line for an operation, checked against its usage. */
export interface Given {
  flags: ReadonlySet<string>
  words: Word[]
}

type Run = (world: World, given: Given) => void | Promise<void>

/** Every operation, by its usage: [X] is optional, X... may be repeated. */
const OPERATIONS: Record<string, Run> = {
  'write PATH [TEXT]': (world, { words: [path, text] }) =>
    writeFileSync(target(world, path), bytesOf(text?.text ?? 'x')),
  'append PATH [TEXT]': (world, { words: [path, text] }) =>
    appendFileSync(target(world, path), bytesOf(text?.text ?? 'x')),
  'truncate PATH SIZE': (world, { words: [path, size] }) => {
    const file = target(world, path)
    if (typeof file === 'number') ftruncateSync(file, number(size))
    else truncateSync(file, number(size))
  },
  'touch PATH...': each((path) => {
    if (exists(path)) utimesSync(path, new Date(), new Date())
    else writeFileSync(path, '')
  }),
  'utimes SECONDS PATH...': (world, { words: [seconds, ...paths] }) => {
    for (const path of paths) utimesSync(world.path(path), number(seconds), number(seconds))
  },
  'mkdir [-p] PATH...': each((path, flags) => mkdirSync(path, { recursive: flags.has('-p') })),
  'rmdir PATH...': each((path) => rmdirSync(path)),
  'rm [-r] PATH...': each((path, flags) =>
    flags.has('-r') ? rmSync(path, { recursive: true }) : unlinkSync(path),
  ),
  'mv FROM TO': two((from, to) => renameSync(from, to)),
  'exchange ONE OTHER': native('exchange'),
  'whiteout FROM TO': native('whiteout'),
  'tmpfile PATH [TEXT]': native('tmpfile'),
  'mkfifo PATH': native('mkfifo'),
  'ln [-s] TARGET PATH': (world, { flags, words: [to, path] }) => {
    if (flags.has('-s')) symlinkSync(bytesOf(given(to).text), world.path(given(path)))
    else linkSync(world.path(given(to)), world.path(given(path)))
  },
  'cp [-r] FROM TO': (world, { flags, words: [from, to] }) => {
    const copy = flags.has('-r') ? copyTree : copyFile
    copy(world.path(given(from)), world.path(given(to)))
  },
  'chmod MODE PATH...': (world, { words: [mode, ...paths] }) => {
    for (const path of paths) chmodSync(world.path(path), number(mode, 8))
  },
  'chown UID PATH...': (world, { words: [uid, ...paths] }) => {
    for (const path of paths) chownSync(world.path(path), number(uid), number(uid))
  },
  'open @HANDLE PATH': (world, { words: [handle, path] }) => {
    const file = world.path(given(path))
    const isDirectory = exists(file) && lstatSync(file).isDirectory()
    world.held.set(given(handle).text, openSync(file, isDirectory ? 'r' : 'a'))
  },
  'close @HANDLE': (world, { words: [handle] }) => {
    closeSync(target(world, handle) as number)
    world.held.delete(given(handle).text)
  },
  'add ROOT': (world, { words: [root] }) => watcherOf(world).add(world.path(given(root)).toString()),
  'remove ROOT': (world, { words: [root] }) => watcherOf(world).remove(world.path(given(root)).toString()),
  'pause MS': (_, { words: [ms] }) => new Promise((resolve) => setTimeout(resolve, number(ms))),
}

export interface Operation {
  usage: string
  run: Run
}

export const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(OPERATIONS).map(([usage, run]) => [usage.split(' ')[0] as string, { usage, run }]),
)

/** Parses an operation's words by its usage. Throws an Error that names the mistake. */
export function give(usage: string, words: readonly Word[]): Given {
  const forms = usage.split(' ').slice(1)
  const isFlag = (word: Word) => word.text.startsWith('-') && !word.quoted
  const unknown = words.find((word) => isFlag(word) && !forms.includes(`[${word.text}]`))
  if (unknown !== undefined) {
    throw new Error(`unknown option ${unknown.text} (if it is a name, quote it); usage: ${usage}`)
  }
  const flags = new Set(words.filter(isFlag).map(({ text }) => text))
  const rest = words.filter((word) => !isFlag(word))
  const places = forms.filter((form) => !form.startsWith('[-'))
  const least = places.filter((form) => !form.startsWith('[')).length
  const most = places.at(-1)?.endsWith('...') ? Number.POSITIVE_INFINITY : places.length
  if (rest.length < least || rest.length > most) throw new Error(`usage: ${usage}`)
  for (const [i, form] of places.entries()) {
    const word = rest[i]
    if (word === undefined) continue
    if (form.startsWith('@') && !isHandle(word)) throw new Error(`a handle begins with @; usage: ${usage}`)
    const base = form === 'MODE' ? 8 : 10
    if (['SIZE', 'SECONDS', 'MODE', 'UID', 'MS'].includes(form) && Number.isNaN(number(word, base))) {
      throw new Error(`${word.text} is no ${form}; usage: ${usage}`)
    }
  }
  return { flags, words: rest }
}

function each(run: (path: Buffer, flags: ReadonlySet<string>) => void): Run {
  return (world, { words, flags }) => {
    for (const word of words) run(world.path(word), flags)
  }
}

function two(run: (from: Buffer, to: Buffer) => void): Run {
  return (world, { words: [from, to] }) => run(world.path(given(from)), world.path(given(to)))
}

let program: string | undefined

/** Returns an operation that Node lacks: test/native/operations.c does it. The names must be UTF-8. */
function native(name: string): Run {
  return (world, { words }) => {
    program ??= compile('operations')
    // The second word of tmpfile is no path.
    const isPath = (i: number) => name !== 'tmpfile' || i === 0
    const values = words.map((word, i) => (isPath(i) ? world.path(word).toString() : word.text))
    execFileSync(program, [name, ...values], { stdio: 'pipe' })
  }
}

const isHandle = ({ text, quoted }: Word) => text.startsWith('@') && !quoted

function target(world: World, word: Word | undefined): Buffer | number {
  const asked = given(word)
  if (!isHandle(asked)) return world.path(asked)
  const held = world.held.get(asked.text)
  if (held === undefined) throw new Error(`${asked.text} is not open`)
  return held
}

function watcherOf({ watcher }: World): Watcher {
  if (watcher === undefined) throw new Error('nothing is watched yet')
  return watcher
}

function given(word: Word | undefined): Word {
  if (word === undefined) throw new Error('a word is missing')
  return word
}

function number(word: Word | undefined, base = 10): number {
  const { text } = given(word)
  return /^\d+$/.test(text) ? Number.parseInt(text, base) : Number.NaN
}

function exists(path: Buffer): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

// copyFile(3) of libuv would set the mode as well.
function copyFile(from: Buffer, to: Buffer): void {
  writeFileSync(to, readFileSync(from))
}

/** Copies a tree as cp -r does: directories, files and links, each before the entries below. */
function copyTree(from: Buffer, to: Buffer): void {
  const stats = lstatSync(from)
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from, 'buffer'), to)
  else if (!stats.isDirectory()) copyFile(from, to)
  else {
    mkdirSync(to)
    const slash = Buffer.from('/')
    for (const name of readdirSync(from, 'buffer').sort(Buffer.compare)) {
      copyTree(Buffer.concat([from, slash, name]), Buffer.concat([to, slash, name]))
    }
  }
}
