import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Ignores } from '../ignores.ts'
import type { Kind } from '../report/change.ts'
import { gitDirectoryOf, readIfAny } from './git_files.ts'
import { type GitRule, gitRulesIn, isMatch } from './git_rule.ts'

export const RULE_FILE = '.gitignore'

interface RuleFile {
  /** The directory that its paths begin in, with a slash. */
  readonly base: string
  readonly rules: readonly GitRule[]
}

/**
 * Tells which paths git ignores: by each .gitignore from the repository's directory down, by its info/exclude, and by the user's own file. A file is read
 * when an entry beside it is first asked for, and then stays as it was: another object has the rules of later.
 */
export class GitIgnore implements Ignores {
  readonly isByRoot = false
  readonly #global: readonly GitRule[]
  /** The files that count in a directory, those that decide last. Mostly a directory has none of its own, and shares the array of the one above. */
  readonly #files = new Map<string, readonly RuleFile[]>()
  /** The texts of the files that were read, of each .gitignore if it has any. */
  readonly #texts = new Map<string, string>()

  /** @param globalFile the user's own rules, for all repositories */
  constructor(globalFile: string) {
    this.#global = gitRulesIn(this.#read(globalFile))
  }

  has(path: string, _relative: string, kind: Kind): boolean {
    const name = basename(path)
    if (name === '.git') return true
    const files = this.#filesIn(dirname(path))
    // A change of it is to be heard of.
    if (name === RULE_FILE && kind !== 'directory') return false
    for (let i = files.length - 1; i >= 0; i--) {
      const { base, rules } = files[i] as RuleFile
      const below = bytesOf(path.slice(base.length))
      const rule = rules.findLast(
        (each) => (!each.isForDirectories || kind === 'directory') && isMatch(each, below),
      )
      if (rule !== undefined) return !rule.isNegated
    }
    return false
  }

  /** Returns true if the rules may be others since a directory, or a file with rules, has come to a path, has left it, or was written. */
  isOutdatedBy(path: string, kind: Kind): boolean {
    if (kind === 'directory') return this.#hasRulesBelow(path)
    const isKnown = basename(path) === RULE_FILE && this.#files.has(dirname(path))
    const before = this.#texts.get(path) ?? (isKnown ? '' : undefined)
    return before !== undefined && before !== readRules(path)
  }

  /** Forgets a directory with all that is in it, of which nobody hears any more. */
  forget(directory: string): void {
    const below = baseOf(directory)
    for (const each of this.#files.keys())
      if (each === directory || each.startsWith(below)) this.#files.delete(each)
    for (const each of this.#texts.keys()) if (each.startsWith(below)) this.#texts.delete(each)
  }

  #filesIn(directory: string): readonly RuleFile[] {
    const known = this.#files.get(directory)
    if (known !== undefined) return known
    const above = isTop(directory) ? this.#ofRepository(directory) : this.#filesIn(dirname(directory))
    const rules = gitRulesIn(this.#read(join(directory, RULE_FILE)))
    const files = rules.length === 0 ? above : [...above, { base: baseOf(directory), rules }]
    this.#files.set(directory, files)
    return files
  }

  #ofRepository(top: string): RuleFile[] {
    const all = [this.#global, gitRulesIn(this.#read(excludeFileOf(top)))]
    return all.filter(({ length }) => length > 0).map((rules) => ({ base: baseOf(top), rules }))
  }

  #hasRulesBelow(directory: string): boolean {
    const below = baseOf(directory)
    for (const each of this.#texts.keys()) if (each.startsWith(below)) return true
    return false
  }

  #read(path: string): string {
    const text = readRules(path)
    if (text !== '' || basename(path) !== RULE_FILE) this.#texts.set(path, text)
    return text
  }
}

/** Returns the files outside of a directory that have rules for what is in it, though some may be missing. */
export function ruleFilesAbove(root: string): string[] {
  const files: string[] = []
  let directory = root
  while (!isTop(directory)) {
    directory = dirname(directory)
    files.push(join(directory, RULE_FILE))
  }
  return [...files, excludeFileOf(directory)]
}

/** Returns true for a repository's own directory. Without one the rules are those of all directories above. */
function isTop(directory: string): boolean {
  if (directory === '/') return true
  const own = join(directory, '.git')
  return existsSync(own) && (existsSync(join(own, 'HEAD')) || readIfAny(own, 'utf8') !== '')
}

/** Returns the path of info/exclude. A worktree's git directory lies in the repository's own. */
function excludeFileOf(top: string): string {
  const directory = gitDirectoryOf(top)
  const common = readIfAny(join(directory, 'commondir'), 'utf8').trimEnd()
  return join(resolve(directory, common), 'info/exclude')
}

/** git follows no symlink in a tree, as others wrote the tree. */
function readRules(path: string): string {
  return readIfAny(path, 'latin1', basename(path) !== RULE_FILE)
}

/** Patterns are compared byte by byte, as git does. */
function bytesOf(path: string): string {
  return OTHER_THAN_ASCII.test(path) ? Buffer.from(path).toString('latin1') : path
}

const OTHER_THAN_ASCII = /[^\0-\x7f]/

function baseOf(directory: string): string {
  return directory === '/' ? '/' : `${directory}/`
}
