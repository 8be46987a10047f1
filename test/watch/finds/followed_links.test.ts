// Links that are followed: what they lead to is what is told, whatever becomes of the link, of what it leads to, or of a link on the way.
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Kind } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { story, watching } from '../support.ts'
import { losing } from './losing.ts'

const NEVER = 1_000_000

/** What there is to be seen by way of links. One that leads to no directory is a link to whoever is told of it, or the file that it leads to. */
function seen(root: string): Array<[path: string, kind: Kind]> {
  return readdirSync(root).flatMap((name): Array<[string, Kind]> => {
    const path = join(root, name)
    const isDirectory = isDirectoryAt(path)
    return isDirectory ? [[path, 'directory'], ...seen(path)] : [[path, 'file']]
  })
}

function isDirectoryAt(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // It leads nowhere, or round.
    return false
  }
}

const inOrder = (names: Iterable<[string, Kind]>) =>
  [...names].map(([path, kind]) => (kind === 'directory' ? `${path}/` : path)).toSorted()

interface Scenario {
  title: string
  before?: (at: (path: string) => string) => void
  act: (at: (path: string) => string) => void
  /** A file that is then written, by its path behind the link, and the one that it is told under. */
  written?: [path: string, toldAs: string]
  /** One that is written and not told. */
  forgotten?: string
  /** Of which something is told. */
  named?: string
  /** All that is told of the link, and of what it led to. */
  told?: string[]
}

const relink = (target: string, link: string) => {
  symlinkSync(target, `${link}-new`)
  renameSync(`${link}-new`, link)
}

/** There are out/one and out/two, each with a file and a directory that has one; only tree/ is watched. */
const scenarios: Scenario[] = [
  {
    title: 'a link comes',
    act: (at) => symlinkSync('../out/one', at('tree/l')),
    written: ['out/one/d/f1', 'tree/l/d/f1'],
  },
  {
    title: 'a directory is made behind a link',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => {
      mkdirSync(at('out/one/new/deep'), { recursive: true })
      writeFileSync(at('out/one/new/deep/f'), '')
    },
    written: ['out/one/new/deep/f', 'tree/l/new/deep/f'],
  },
  {
    title: 'a link to nowhere is replaced by one to a directory',
    before: (at) => symlinkSync('nowhere', at('tree/l')),
    act: (at) => relink('../out/one', at('tree/l')),
    written: ['out/one/d/f1', 'tree/l/d/f1'],
  },
  {
    title: 'a link to nowhere is removed and made anew, to a directory',
    before: (at) => symlinkSync('nowhere', at('tree/l')),
    act: (at) => {
      unlinkSync(at('tree/l'))
      symlinkSync('../out/one', at('tree/l'))
    },
    written: ['out/one/d/f1', 'tree/l/d/f1'],
  },
  {
    title: 'a link to a file is replaced by one to a directory',
    before: (at) => symlinkSync('../out/one/f1', at('tree/l')),
    act: (at) => relink('../out/one', at('tree/l')),
    written: ['out/one/d/f1', 'tree/l/d/f1'],
  },
  {
    title: 'a link to nowhere is replaced by one to a directory that comes from elsewhere',
    before: (at) => {
      symlinkSync('nowhere', at('tree/l'))
      symlinkSync('../out/one', at('out/new'))
    },
    act: (at) => renameSync(at('out/new'), at('tree/l')),
    written: ['out/one/d/f1', 'tree/l/d/f1'],
  },
  {
    title: 'a link to a file is replaced by one to another',
    before: (at) => symlinkSync('../out/one/f1', at('tree/l')),
    act: (at) => relink('../out/two/f2', at('tree/l')),
    named: 'tree/l',
  },
  {
    title: 'a link to a directory is replaced by one to nowhere',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => relink('nowhere', at('tree/l')),
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'a link comes with the directory that it is in',
    act: (at) => {
      mkdirSync(at('out/three'))
      symlinkSync('../../out/one', at('out/three/l'))
      renameSync(at('out/three'), at('tree/three'))
    },
    written: ['out/one/d/f1', 'tree/three/l/d/f1'],
  },
  {
    title: 'links that lead to one directory come together',
    act: (at) => {
      mkdirSync(at('tree/new'))
      symlinkSync('../../out/one', at('tree/new/l'))
      symlinkSync('../out/two', at('tree/m'))
      symlinkSync('../out/one', at('tree/n'))
    },
    written: ['out/two/d/f2', 'tree/m/d/f2'],
  },
  {
    title: 'what a link leads to comes later',
    before: (at) => symlinkSync('../out/late', at('tree/l')),
    act: (at) => {
      mkdirSync(at('out/late'))
      writeFileSync(at('out/late/f'), '')
    },
    written: ['out/late/f', 'tree/l/f'],
  },
  {
    title: 'a link to nowhere is renamed and removed at once',
    before: (at) => symlinkSync('nowhere', at('tree/l')),
    act: (at) => {
      renameSync(at('tree/l'), at('tree/m'))
      unlinkSync(at('tree/m'))
    },
  },
  {
    title: 'a link is made and removed at once',
    act: (at) => {
      symlinkSync('../out/one', at('tree/l'))
      unlinkSync(at('tree/l'))
    },
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'a link is renamed and removed at once',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => {
      renameSync(at('tree/l'), at('tree/m'))
      unlinkSync(at('tree/m'))
    },
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'a link is renamed',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => renameSync(at('tree/l'), at('tree/m')),
    written: ['out/one/d/f1', 'tree/m/d/f1'],
  },
  {
    title: 'a link is replaced by one that leads elsewhere',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => relink('../out/two', at('tree/l')),
    written: ['out/two/d/f2', 'tree/l/d/f2'],
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'what a link leads to is renamed',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => renameSync(at('out/one'), at('out/elsewhere')),
    forgotten: 'out/elsewhere/d/f1',
  },
  {
    title: 'what a link leads to is removed',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => rmSync(at('out/one'), { recursive: true }),
    told: ['delete directory tree/l', 'create symlink tree/l'],
  },
  {
    title: 'what a link leads to is removed and made again',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => {
      rmSync(at('out/one'), { recursive: true })
      mkdirSync(at('out/one'))
      writeFileSync(at('out/one/again'), '')
    },
    written: ['out/one/again', 'tree/l/again'],
  },
  {
    title: 'what a link leads to is renamed, and another has its name',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => {
      renameSync(at('out/one'), at('out/elsewhere'))
      renameSync(at('out/two'), at('out/one'))
    },
    written: ['out/one/d/f2', 'tree/l/d/f2'],
    forgotten: 'out/elsewhere/d/f1',
  },
  {
    title: 'a directory above what a link leads to is renamed, and there is another',
    before: (at) => symlinkSync('../out/one', at('tree/l')),
    act: (at) => {
      renameSync(at('out'), at('elsewhere'))
      mkdirSync(at('out/one'), { recursive: true })
      writeFileSync(at('out/one/other'), '')
    },
    written: ['out/one/other', 'tree/l/other'],
    forgotten: 'elsewhere/one/d/f1',
  },
  {
    title: 'the link that a link leads to is swapped, as in a deployment',
    before: (at) => {
      symlinkSync('one', at('out/current'))
      symlinkSync('../out/current', at('tree/l'))
    },
    act: (at) => relink('two', at('out/current')),
    written: ['out/two/d/f2', 'tree/l/d/f2'],
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'the link that a link leads to is removed and made anew',
    before: (at) => {
      symlinkSync('one', at('out/current'))
      symlinkSync('../out/current', at('tree/l'))
    },
    act: (at) => {
      unlinkSync(at('out/current'))
      symlinkSync('two', at('out/current'))
    },
    written: ['out/two/d/f2', 'tree/l/d/f2'],
    forgotten: 'out/one/d/f1',
  },
  {
    title: 'a link to a file',
    before: (at) => symlinkSync('../out/one/f1', at('tree/l')),
    act: () => {},
    written: ['out/one/f1', 'tree/l'],
  },
  {
    title: 'a link to a file, by way of one that is swapped',
    before: (at) => {
      symlinkSync('one', at('out/current'))
      writeFileSync(at('out/one/key'), 'one')
      writeFileSync(at('out/two/key'), 'two')
      symlinkSync('../out/current/key', at('tree/l'))
    },
    act: (at) => relink('two', at('out/current')),
    written: ['out/two/key', 'tree/l'],
    forgotten: 'out/one/key',
  },
  {
    title: 'a link into a circle of links, which a file breaks',
    before: (at) => {
      symlinkSync('one-way', at('out/other-way'))
      symlinkSync('other-way', at('out/one-way'))
      symlinkSync('../out/one-way', at('tree/l'))
    },
    act: (at) => {
      writeFileSync(at('out/new'), '')
      renameSync(at('out/new'), at('out/other-way'))
    },
    named: 'tree/l',
    written: ['out/other-way', 'tree/l'],
  },
  {
    title: 'a link in a directory that goes into one that was in it, which takes its place',
    before: (at) => {
      mkdirSync(at('tree/outer/inner'), { recursive: true })
      symlinkSync(at('out/one'), at('tree/outer/l'))
    },
    act: (at) => {
      renameSync(at('tree/outer/inner'), at('tree/new'))
      renameSync(at('tree/outer'), at('tree/new/was-outer'))
      renameSync(at('tree/new'), at('tree/outer'))
    },
    written: ['out/one/d/f1', 'tree/outer/was-outer/l/d/f1'],
  },
  {
    title: 'a link to a file in a directory that goes into one that was in it, which takes its place',
    before: (at) => {
      mkdirSync(at('tree/outer/inner'), { recursive: true })
      symlinkSync(at('out/one/f1'), at('tree/outer/file'))
    },
    act: (at) => {
      renameSync(at('tree/outer/inner'), at('tree/new'))
      renameSync(at('tree/outer'), at('tree/new/was-outer'))
      renameSync(at('tree/new'), at('tree/outer'))
    },
    written: ['out/one/f1', 'tree/outer/was-outer/file'],
  },
]

describe.each([
  ['by events', 'inotify'],
  ['by polling', 'poll'],
  ['by the rescan after an overflow', 'inotify'],
] as const)('%s', (source, backend) => {
  test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    const root = at('tree')
    mkdirSync(root)
    for (const [directory, file] of [
      ['one', 'f1'],
      ['two', 'f2'],
    ] as const) {
      mkdirSync(at(`out/${directory}/d`), { recursive: true })
      for (const path of [file, `d/${file}`]) writeFileSync(at(`out/${directory}/${path}`), '')
    }
    scenario.before?.(at)
    const believed = new AppliedAlone(root).adopt(seen(root))
    const options = { backend, recursive: true, followSymlinks: true, interval: NEVER }
    const { system, lose } = losing()
    const { told } = await watching(root, options, system)
    await told()
    if (source.includes('overflow')) lose()
    scenario.act(at)
    const first = await told()
    believed.apply(first)
    expect(inOrder(believed.names)).toEqual(inOrder(seen(root)))

    const { written, forgotten, named } = scenario
    const ofLink = story(first, base).filter((line) => /tree\/l$/.test(line))
    if (scenario.told !== undefined) expect(ofLink).toEqual(scenario.told)
    if (named !== undefined) expect(first.map(({ path }) => path)).toContain(at(named))
    if (written !== undefined) appendFileSync(at(written[0]), 'more')
    if (forgotten !== undefined) appendFileSync(at(forgotten), 'more')
    const changes = await told()
    believed.apply(changes)
    const expected = written === undefined ? [] : [`modify ${at(written[1])}`]
    expect([...new Set(changes.map(({ type, path }) => `${type} ${path}`))]).toEqual(expected)
  })

  test('a file that a link leads to is replaced: the link is what has changed', async () => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree'))
    writeFileSync(at('key'), 'one')
    symlinkSync('../key', at('tree/l'))
    const { told } = await watching(at('tree'), {
      backend,
      recursive: true,
      followSymlinks: true,
      interval: NEVER,
    })
    await told()
    writeFileSync(at('key-new'), 'two')
    renameSync(at('key-new'), at('key'))
    const changes = await told()
    expect(changes.map(({ type, path }) => `${type} ${path}`)).toEqual([`modify ${at('tree/l')}`])
  })
})

test.each(['inotify', 'poll'] as const)(
  '%s: a link to what lies above the root is a link, also where the root is one',
  async (backend) => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree/root/d'), { recursive: true })
    mkdirSync(at('tree/beside'))
    symlinkSync('tree/root', at('link'))
    symlinkSync('..', at('tree/root/above'))
    symlinkSync('../../..', at('tree/root/d/far-above'))
    symlinkSync('/', at('tree/root/top'))
    symlinkSync('../beside', at('tree/root/beside'))
    for (const root of ['tree/root', 'link'].map(at)) {
      const options = { backend, recursive: true, followSymlinks: true, initial: true, interval: NEVER }
      const { told } = await watching(root, options)
      expect(story(await told(), root).toSorted()).toEqual([
        'create directory beside',
        'create directory d',
        'create symlink above',
        'create symlink d/far-above',
        'create symlink top',
      ])
      renameSync(at('tree/root/above'), at('tree/root/up'))
      renameSync(at('tree/root/up'), at('tree/root/above'))
      for (const { kind } of (await told()) as Array<{ kind: Kind }>) expect(kind).toBe('symlink')
    }
  },
)
