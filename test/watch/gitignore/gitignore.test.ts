// Options `gitignore` and `only`: where rules are looked for, and when they are read again. Which paths the rules match: see against_git.test.ts.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test, vi } from 'vitest'
import { watchesIn } from '../../../src/inotify/fdinfo.ts'
import { watch } from '../../../src/watch/calls.ts'
import { GitRules } from '../../../src/watch/gitignore/git_rules.ts'
import type { WatchOptions } from '../../../src/watch/options.ts'
import { scratch } from '../../support/scratch.ts'
import { untilPast } from '../regressions/losing.ts'
import { watching } from '../support.ts'

const NEVER = 1_000_000

/** Returns the number of inotify watches of this process. */
function watchesHere(): number {
  const infos = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
    } catch {
      // Closed since.
      return ''
    }
  })
  return infos.flatMap((info) => [...watchesIn(info)]).length
}

/** Watches `at` in a directory with these files, '/' at the end: a directory. */
async function planted(
  files: Record<string, string>,
  { at = '', ...options }: WatchOptions & { at?: string } = {},
) {
  const base = scratch()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    if (path.endsWith('/')) mkdirSync(join(base, path), { recursive: true })
    else writeFileSync(join(base, path), text)
  }
  for (const [path, text] of Object.entries(files)) write(path, text)
  const root = join(base, at)
  const { watcher, told } = await watching(root, {
    recursive: true,
    gitignore: true,
    interval: NEVER,
    ...options,
  })
  return {
    base,
    watcher,
    write,
    told,
    /** Returns the paths below the root, after what was done before. */
    async seen() {
      await watcher.sync()
      return [...watcher.entries()]
        .map(({ path }) => relative(root, path))
        .filter((path) => path !== '' && !path.endsWith('.gitignore'))
        .toSorted()
    },
  }
}

test('an ignored directory takes no watch, and nothing of .git is told', async () => {
  const { watcher, seen, write, told } = await planted({
    '.git/HEAD': '',
    '.gitignore': 'build/',
    'build/in/f': '',
    'src/f': '',
  })
  expect(await seen()).toEqual(['src', 'src/f'])
  expect(watcher.coverage()).toMatchObject([{ directories: 2 }])
  write('.git/index', '')
  write('build/in/g', '')
  expect(await told()).toEqual([])
})

test.for([
  [
    'the repository of which the root is a part',
    { '.git/HEAD': '', '.gitignore': 'a', 'root/a': '', 'root/b': '' },
    '.gitignore',
  ],
  [
    'all directories above, without a repository',
    { '.gitignore': 'a', 'root/a': '', 'root/b': '' },
    '.gitignore',
  ],
  [
    "the repository's own exclude file",
    { '.git/HEAD': '', '.git/info/exclude': 'a', 'root/a': '', 'root/b': '' },
    '.git/info/exclude',
  ],
  [
    "a worktree's repository",
    {
      '.git': 'gitdir: main/worktrees/w\n',
      'main/worktrees/w/commondir': '../..\n',
      'main/info/exclude': 'a',
      'root/a': '',
      'root/b': '',
    },
    'main/info/exclude',
  ],
] as const)('rules of %s, read again when they change', async ([, files, ruleFile]) => {
  const { base, seen, write } = await planted(files, { at: 'root' })
  expect(await seen()).toEqual(['b'])
  write(ruleFile, 'b')
  expect(await seen()).toEqual(['a'])
  rmSync(join(base, ruleFile))
  expect(await seen()).toEqual(['a', 'b'])
  write(ruleFile, 'a\nb')
  expect(await seen()).toEqual([])
})

test('rules that lie outside of the root, and change right after `ready`, count when sync() resolves', async () => {
  const { base, watcher, seen, write } = await planted(
    { '.git/HEAD': '', '.git/info/exclude': 'a', 'root/a': '', 'root/b': '', 'other/a': '', 'other/b': '' },
    { at: 'root' },
  )
  write('.git/info/exclude', 'b')
  expect(await seen()).toEqual(['a'])
  await watcher.add(join(base, 'other'))
  write('.gitignore', 'a')
  await watcher.sync()
  expect([...watcher.entries(join(base, 'other'))]).toHaveLength(1)
})

test.for([
  ['git/ignore', 'git/ignore', ''],
  ['core.excludesFile', 'mine', '[user]\n\tname = x\n[core]\n\tpager = less\n\texcludesFile = "HERE/mine"\n'],
] as const)("the user's rules: %s", async ([, file, config]) => {
  const home = scratch()
  vi.stubEnv('XDG_CONFIG_HOME', home)
  vi.stubEnv('GIT_CONFIG_GLOBAL', join(home, 'config'))
  mkdirSync(join(home, 'git'))
  writeFileSync(join(home, 'config'), config.replace('HERE', home))
  const rules = join(home, file)
  writeFileSync(rules, 'a')
  const { seen } = await planted({ '.git/HEAD': '', a: '', b: '' })
  expect(await seen()).toEqual(['b'])
  writeFileSync(rules, 'b')
  expect(await seen()).toEqual(['a'])
  vi.unstubAllEnvs()
})

test('rules move with their directory, and those above are for where it is now', async () => {
  const { base, seen } = await planted({
    '.git/HEAD': '',
    '.gitignore': 'x/a',
    'x/.gitignore': 'b',
    'x/a': '',
    'x/b': '',
    'x/c': '',
  })
  expect(await seen()).toEqual(['x', 'x/c'])
  renameSync(join(base, 'x'), join(base, 'y'))
  expect(await seen()).toEqual(['y', 'y/a', 'y/c'])
  // Another directory in the place of one with rules.
  mkdirSync(join(base, 'x'))
  writeFileSync(join(base, 'x/b'), '')
  expect(await seen()).toEqual(['x', 'x/b', 'y', 'y/a', 'y/c'])
})

test('a repository in another has its own rules', async () => {
  const { seen } = await planted({
    '.git/HEAD': '',
    '.gitignore': '*.o',
    'in/.git/HEAD': '',
    'in/.gitignore': 'a',
    'in/a': '',
    'in/f.o': '',
    'f.o': '',
  })
  expect(await seen()).toEqual(['in', 'in/f.o'])
})

test('a FIFO of the name holds up nobody', async () => {
  const { base, seen } = await planted({ '.git/HEAD': '', 'd/a': '' })
  execFileSync('mkfifo', [join(base, 'd/.gitignore')])
  writeFileSync(join(base, 'd/b'), '')
  expect(await seen()).toEqual(['d', 'd/a', 'd/b'])
})

test('`only` names files, and neither it nor `ignore` hides a change of the rules', async () => {
  const only = ['**/*.ts']
  const { watcher, seen, write } = await planted(
    { '.git/HEAD': '', '.gitignore': 'a.ts', 'a.ts': '', 'd/b.ts': '', 'd/c.js': '' },
    { only, ignore: [/^\./] },
  )
  expect(await seen()).toEqual(['d', 'd/b.ts'])
  write('.gitignore', 'b.ts')
  expect(await seen()).toEqual(['a.ts', 'd'])
  await watcher.setIgnore(['d'])
  expect(await seen()).toEqual(['a.ts'])
})

test('roots that come and go leave no watch behind', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      [`${i}/.git/HEAD`, ''],
      [`${i}/in/a`, ''],
    ]).flat(),
  )
  const { base, watcher } = await planted({ 'root/': '', ...files }, { at: 'root' })
  await watcher.sync()
  const before = watchesHere()
  for (let i = 0; i < 20; i++) {
    await watcher.add(join(base, `${i}/in`))
    await watcher.remove(join(base, `${i}/in`))
  }
  // Those that are left while the other watcher is busy are removed a little later.
  await expect.poll(watchesHere).toBe(before)
})

test('who waits for the rules waits until the files that lie elsewhere are watched', async () => {
  const base = scratch()
  const exclude = join(base, '.git/info/exclude')
  mkdirSync(dirname(exclude), { recursive: true })
  writeFileSync(join(base, '.git/HEAD'), '')
  let watched = () => {}
  const added = new Promise<void>((resolve) => {
    watched = resolve
  })
  const nothing = async () => {}
  const elsewhere = { on: () => {}, add: () => added, remove: nothing, sync: nothing, close: nothing }
  const apply = vi.fn(nothing)
  const rules = new GitRules(elsewhere, apply)
  rules.with(undefined)?.has(join(base, 'a'), 'a', 'file')
  rules.watchAbove([base])
  writeFileSync(exclude, 'a')
  setImmediate(watched)
  await rules.settled()
  expect(apply).toHaveBeenCalledTimes(1)
})

test('save() writes the tree by the rules as they are', async () => {
  const { base, watcher, write } = await planted(
    { 'root/.git/HEAD': '', 'root/a': '', 'root/b': '' },
    { at: 'root' },
  )
  const file = join(base, 'saved')
  // A file written right before save() may be told again.
  await untilPast(join(base, 'root/b'))
  write('root/.git/info/exclude', 'a')
  await watcher.save(file)
  const later = await watching(join(base, 'root'), {
    recursive: true,
    gitignore: true,
    interval: NEVER,
    since: file,
  })
  expect(await later.told()).toEqual([])
  write('root/.git/info/exclude', '')
  await later.watcher.sync()
  expect(await later.told()).toMatchObject([{ type: 'create', path: join(base, 'root/a') }])
})

test('a root that is added has the rules above it', async () => {
  const { base, watcher, write } = await planted(
    { 'root/': '', 'other/.git/HEAD': '', 'other/.gitignore': 'a', 'other/in/a': '', 'other/in/b': '' },
    { at: 'root' },
  )
  await watcher.add(join(base, 'other/in'))
  const names = () =>
    [...watcher.entries(join(base, 'other/in'))].map(({ path }) => relative(join(base, 'other/in'), path))
  expect(names()).toEqual(['', 'b'])
  write('other/.gitignore', 'b')
  await watcher.sync()
  expect(names()).toEqual(['', 'a'])
})

test.for([
  [{ gitignore: 'yes' }, /options\.gitignore.*true or false/],
  [{ only: [] }, /options\.only.*array of globs/],
  [{ only: '*.ts' }, /options\.only.*array of globs/],
  [{ only: ['@(a|b)'] }, /options\.only must be a glob/],
] as const)('%o is refused', ([options, message]) => {
  expect(() => watch('/', options as unknown as WatchOptions)).toThrow(message)
})
