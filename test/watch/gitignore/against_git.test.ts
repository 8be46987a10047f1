// Option `gitignore`: the files of random trees, before and after their rules change, and those that git lists as untracked.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Watcher } from '../../../src/watch/watcher.ts'
import { isLong } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { randomFrom } from '../support.ts'

const TREES = isLong ? 60 : 20
const AT_ONCE = 10
const hasGit = spawnSync('git', ['--version']).status === 0

const NAMES = ['a', 'b', 'c', 'ab', 'a.log', 'b.log', '.d', 'e f', '!g', '#h', 'i{1,2}', 'i1', 'j(k)', 'l[m]']
const PATTERNS = [
  ...[
    'a',
    'b',
    '*',
    '*.log',
    '?',
    'a*',
    '.*',
    '[ab]',
    '[!ab]',
    '[[:alpha:]]',
    '\\*',
    'e f',
    'e\\ f',
    'i{1,2}',
    'i*',
    'j(k)',
    '*(k)',
  ],
  ...[
    '\\!g',
    '\\#h',
    '#h',
    '!g',
    '**',
    '**/',
    '?[m]',
    'ä',
    'l\\[m]',
    '',
    '   ',
    '/',
    '!',
    '*b',
    'a**b',
    '[a-c]',
    'a?',
  ],
  ...[
    'a/b',
    'a/*',
    'a/**',
    '**/a',
    '**/a/b',
    'a/**/b',
    '*/b',
    '*/*',
    '**/*.log',
    'b/**/',
    'a/b/**',
    '*/**/b',
    'c/?',
  ],
]

describe.skipIf(!hasGit)('files of random trees (needs git)', () => {
  test.for(Array.from({ length: TREES / AT_ONCE }, (_, i) => [i * AT_ONCE, (i + 1) * AT_ONCE]))(
    '%o',
    async ([from, to]) => {
      for (let seed = from as number; seed < (to as number); seed++) {
        const tree = new RandomTree(seed)
        tree.write()
        const watcher = new Watcher(tree.root, { recursive: true, gitignore: true })
        await watcher.ready
        for (const when of ['at first', 'after a change', 'after another']) {
          const seen = [...watcher.entries()]
            .filter(({ kind }) => kind !== 'directory')
            .map(({ path }) => relative(tree.root, path))
          expect(withoutRules(seen), `seed ${seed}, ${when}\n${tree.rules()}`).toEqual(
            withoutRules(tree.listed()),
          )
          tree.change()
          await watcher.sync()
        }
        await watcher.close()
      }
    },
  )
})

/** Returns the paths, but for those of .gitignore files: git may ignore these, and a watcher never does. */
function withoutRules(paths: string[]): string[] {
  return paths.filter((path) => !/(^|\/)\.gitignore$/.test(path)).toSorted()
}

class RandomTree {
  readonly root = scratch()
  readonly #random: (below: number) => number
  readonly #directories = ['']
  readonly #ruleFiles = new Map<string, string>()

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    execFileSync('git', ['init', '-q', this.root])
  }

  write(): void {
    for (let i = 0; i < 12; i++) {
      const path = join(this.#any(this.#directories), this.#any(NAMES))
      try {
        mkdirSync(join(this.root, path))
        this.#directories.push(path)
      } catch {
        // The name is taken.
      }
    }
    for (let i = 0; i < 30; i++) this.#makeFile()
    for (let i = 0; i < 3; i++) this.#writeRules()
  }

  /** Changes rules, or files, or both. */
  change(): void {
    if (this.#random(2) === 0) this.#makeFile()
    if (this.#random(3) > 0) this.#writeRules()
    const [first] = this.#ruleFiles.keys()
    if (first !== undefined && this.#random(4) === 0) {
      rmSync(join(this.root, first))
      this.#ruleFiles.delete(first)
    }
  }

  listed(): string[] {
    const list = ['-C', this.root, 'ls-files', '-o', '--exclude-standard', '-z']
    return execFileSync('git', list, { encoding: 'utf8' }).split('\0').filter(Boolean)
  }

  rules(): string {
    return [...this.#ruleFiles].map(([path, text]) => `${path}:\n${text}`).join('\n')
  }

  #makeFile(): void {
    try {
      writeFileSync(join(this.root, this.#any(this.#directories), this.#any(NAMES)), '', { flag: 'wx' })
    } catch {
      // The name is taken.
    }
  }

  #writeRules(): void {
    const file =
      this.#random(5) === 0 ? '.git/info/exclude' : join(this.#any(this.#directories), '.gitignore')
    const lines = Array.from({ length: 1 + this.#random(4) }, () => this.#line())
    const text = lines.join(this.#random(5) === 0 ? '\r\n' : '\n')
    mkdirSync(dirname(join(this.root, file)), { recursive: true })
    writeFileSync(join(this.root, file), text)
    this.#ruleFiles.set(file, text)
  }

  #line(): string {
    const [not, slash, end] = [
      this.#random(3) === 0 ? '!' : '',
      this.#random(5) === 0 ? '/' : '',
      this.#any(['', '', '', '/', '  ']),
    ]
    return `${not}${slash}${this.#any(PATTERNS)}${end}`
  }

  #any<T>(values: readonly T[]): T {
    return values[this.#random(values.length)] as T
  }
}
