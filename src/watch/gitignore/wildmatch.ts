/** `ABORT`: a longer text cannot match either. `TO_STARSTAR`: nor can it within this name. */
const [MATCH, NO_MATCH, ABORT, TO_STARSTAR] = [0, 1, 2, 3]

/** git's classes of characters, by their names in a pattern. */
const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /[a-z0-9]/i,
  alpha: /[a-z]/i,
  blank: /[ \t]/,
  cntrl: /[\0-\x1f\x7f]/,
  digit: /\d/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t-\r]/,
  upper: /[A-Z]/,
  xdigit: /[\da-f]/i,
}

/**
 * Returns true if a pattern matches a path as git has it (wildmatch.c, WM_PATHNAME): no star that stands alone matches a slash. Takes no exponential time, which a
 * RegExp would, by a pattern that a stranger has written. Both are strings of bytes.
 */
export function wildmatch(pattern: string, path: string): boolean {
  return match(pattern, 0, path, 0) === MATCH
}

function match(pattern: string, from: number, text: string, at: number): number {
  let [p, t] = [from, at]
  for (; p < pattern.length; p++, t++) {
    const is = text[t]
    const wanted = pattern[p]
    if (is === undefined && wanted !== '*') return ABORT
    if (wanted === '\\') {
      if (is !== pattern[++p]) return NO_MATCH
    } else if (wanted === '?') {
      if (is === '/') return NO_MATCH
    } else if (wanted === '[') {
      const end = classEnd(pattern, p, is as string)
      if (end === undefined) return ABORT
      if (end < 0 || is === '/') return NO_MATCH
      p = end
    } else if (wanted === '*') {
      const before = pattern[p - 1]
      const first = p
      while (pattern[p] === '*') p++
      const isWhole = before === undefined || before === '/'
      const ends = pattern[p] === undefined || pattern[p] === '/' || pattern.startsWith('\\/', p)
      const passesSlash = p - first > 1 && isWhole && ends
      if (passesSlash && pattern[p] === '/' && match(pattern, p + 1, text, t) === MATCH) return MATCH
      if (pattern[p] === undefined) return passesSlash || !text.includes('/', t) ? MATCH : NO_MATCH
      if (passesSlash || pattern[p] !== '/') return matchAfterStar(pattern, p, text, t, passesSlash)
      t = text.indexOf('/', t)
      if (t < 0) return NO_MATCH
    } else if (is !== wanted) return NO_MATCH
  }
  return t < text.length ? NO_MATCH : MATCH
}

/** Matches what follows stars with each rest of the text. */
function matchAfterStar(pattern: string, p: number, text: string, at: number, passesSlash: boolean): number {
  for (let t = at; t < text.length; t++) {
    const found = match(pattern, p, text, t)
    if (found !== NO_MATCH) {
      if (!passesSlash || found !== TO_STARSTAR) return found
    } else if (!passesSlash && text[t] === '/') return TO_STARSTAR
  }
  return ABORT
}

/** Returns where the class that begins at `from` ends, negative if the character is not in it; undefined: the pattern is none. */
function classEnd(pattern: string, from: number, is: string): number | undefined {
  let p = from + 1
  const isNegated = pattern[p] === '!' || pattern[p] === '^'
  if (isNegated) p++
  let isIn = false
  let before: string | undefined
  for (let isFirst = true; isFirst || pattern[p] !== ']'; isFirst = false, p++) {
    let one = pattern[p]
    if (one === undefined) return undefined
    const named = /^\[:([^\]]*):\]/.exec(one === '[' ? pattern.slice(p, p + LONGEST_CLASS) : '')?.[1]
    if (named !== undefined) {
      const characters = CLASSES[named]
      if (characters === undefined) return undefined
      isIn ||= characters.test(is)
      p += named.length + 3
      before = undefined
      continue
    }
    const isRange =
      one === '-' && before !== undefined && pattern[p + 1] !== undefined && pattern[p + 1] !== ']'
    if (isRange) one = pattern[++p]
    if (one === '\\') one = pattern[++p]
    if (one === undefined) return undefined
    isIn ||= isRange ? (before as string) <= is && is <= one : is === one
    before = isRange ? undefined : one
  }
  return isIn === isNegated ? -1 : p
}

const LONGEST_CLASS = 12
