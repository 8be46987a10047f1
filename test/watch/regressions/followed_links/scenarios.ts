// Scenarios of followed links and of their targets: see play.ts.
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'

export interface Scenario {
  title: string
  before?: (at: (path: string) => string) => void
  act: (at: (path: string) => string) => void
  /**
   * A file that is written afterwards, by its path behind the link, and the path under which the write is
   * told.
   */
  written?: [path: string, toldAs: string]
  /** A file that is written afterwards without a change. */
  forgotten?: string
  /** A path that some change must name. */
  named?: string
  /** All changes of the link and of its target. */
  told?: string[]
}

const relink = (target: string, link: string) => {
  symlinkSync(target, `${link}-new`)
  renameSync(`${link}-new`, link)
}

/** Moves tree/outer into tree/outer/inner, which takes its place. */
const turnInsideOut: Scenario['act'] = (at) => {
  renameSync(at('tree/outer/inner'), at('tree/new'))
  renameSync(at('tree/outer'), at('tree/new/was-outer'))
  renameSync(at('tree/new'), at('tree/outer'))
}

/**
 * There are out/one and out/two, each with a file and with a directory that has a file. Only tree/ is
 * watched.
 */
export const scenarios: Scenario[] = [
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
    title: 'a link to a directory, in a directory that goes into one that was in it',
    before: (at) => {
      mkdirSync(at('tree/outer/inner'), { recursive: true })
      symlinkSync(at('out/one'), at('tree/outer/l'))
    },
    act: turnInsideOut,
    written: ['out/one/d/f1', 'tree/outer/was-outer/l/d/f1'],
  },
  {
    title: 'a link to a file, in a directory that goes into one that was in it',
    before: (at) => {
      mkdirSync(at('tree/outer/inner'), { recursive: true })
      symlinkSync(at('out/one/f1'), at('tree/outer/file'))
    },
    act: turnInsideOut,
    written: ['out/one/f1', 'tree/outer/was-outer/file'],
  },
]
