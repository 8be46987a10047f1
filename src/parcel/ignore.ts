import { relative, resolve } from 'node:path'

/** The packages by which @parcel/watcher tells globs from paths, and matches them. Optional peers: not literals, so that no bundler looks for them. */
const MATCHERS: readonly string[] = ['is-glob', 'picomatch']
type Loaded = [
  { default(text: string): boolean },
  { default: { makeRe(glob: string, options: { dot: boolean }): RegExp } },
]

/** No glob is without one of these. */
const OF_GLOBS = /[*?[{(!]/

/** For watch(): paths with all below them; glob patterns and regular expressions of what follows the directory. Rejects as there is a glob, and nothing to match it by. */
export async function ignoreOf(
  directory: string,
  rules: ReadonlyArray<string | RegExp>,
): Promise<(name: string) => boolean> {
  const ignored = await Promise.all(rules.map((rule) => matcherOf(directory, rule)))
  return (name) => ignored.some((matches) => matches(name))
}

async function matcherOf(directory: string, rule: string | RegExp): Promise<(name: string) => boolean> {
  const pattern = rule instanceof RegExp ? rule : await patternOf(rule)
  // @parcel/watcher asks only paths, and no glob, about the directory itself.
  if (pattern) return (name) => name !== directory && relative(directory, name).search(pattern) >= 0
  const ignored = resolve(directory, rule as string)
  return (name) => name === ignored || name.startsWith(`${ignored}/`)
}

/** undefined: it is a path. */
async function patternOf(rule: string): Promise<RegExp | undefined> {
  if (!OF_GLOBS.test(rule)) return undefined
  const [isGlob, picomatch] = await load(rule)
  return isGlob.default(rule) ? picomatch.default.makeRe(rule, { dot: true }) : undefined
}

async function load(rule: string): Promise<Loaded> {
  try {
    return (await Promise.all(MATCHERS.map((name) => import(name)))) as Loaded
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    const cure = `npm install ${MATCHERS.join(' ')}`
    throw new Error(
      `ignore: '${rule}' needs ${MATCHERS.join(' and ')}, one of which could not be loaded: ${cure} (${why})`,
      { cause: error },
    )
  }
}
