import { wildmatch } from './wildmatch.ts'

/** One line of a .gitignore file: see gitignore(5). */
export interface GitRule {
  /** True: an entry that matches is not ignored. */
  readonly isNegated: boolean
  readonly isForDirectories: boolean
  /** True: the pattern is for an entry's name, at any depth; false: for the path from the file's directory on. */
  readonly isForName: boolean
  /** The beginning of the pattern, in which no character has a meaning of its own. git compares that apart, so `**` may follow. */
  readonly prefix: string
  readonly rest: string
}

/** Returns the rules of a file, a string of bytes, in their order. */
export function gitRulesIn(text: string): GitRule[] {
  return text
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .flatMap(ruleOf)
}

/** Returns true if a rule is about an entry. @param path from the file's directory on, a string of bytes */
export function isMatch({ isForName, prefix, rest }: GitRule, path: string): boolean {
  const subject = isForName ? path.slice(path.lastIndexOf('/') + 1) : path
  if (!subject.startsWith(prefix)) return false
  return rest === '' ? subject.length === prefix.length : wildmatch(rest, subject.slice(prefix.length))
}

function ruleOf(line: string): GitRule[] {
  const [bare = ''] = line.replace(/\r$/, '').split('\0')
  if (bare === '' || bare.startsWith('#')) return []
  const isNegated = bare.startsWith('!')
  const pattern = withoutSpaces(isNegated ? bare.slice(1) : bare)
  const isForDirectories = pattern.endsWith('/')
  const path = isForDirectories ? pattern.slice(0, -1) : pattern
  if (path === '') return []
  const isForName = !path.includes('/')
  const relative = path.replace(/^\//, '')
  const length = relative.search(/[*?[\\]/)
  const [prefix, rest] = length < 0 ? [relative, ''] : [relative.slice(0, length), relative.slice(length)]
  return [{ isNegated, isForDirectories, isForName, prefix, rest }]
}

/** Cuts spaces at the end, but for one after a backslash that stands for itself. */
function withoutSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  let begin = end
  while (line[begin - 1] === '\\') begin--
  return line.slice(0, (end - begin) % 2 === 1 ? end + 1 : end)
}
