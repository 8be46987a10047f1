// A followed link that comes to lead elsewhere is told once: for all old and new targets, all ways of
// replacing the link, and all sources.
import { appendFileSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../../support/scratch.ts'
import { inWords, Replay, reality, watching } from '../../support.ts'
import { untilPast } from '../losing.ts'

const NEVER = 1_000_000

type At = (path: string) => string

const ways: Record<string, (at: At, to: string) => void> = {
  'unlink and symlink': (at, to) => {
    unlinkSync(at('conf/l'))
    symlinkSync(to, at('conf/l'))
  },
  'rename from elsewhere': (at, to) => {
    symlinkSync(to, at('new'))
    renameSync(at('new'), at('conf/l'))
  },
  'rename from beside it': (at, to) => {
    symlinkSync(to, at('conf/new'))
    renameSync(at('conf/new'), at('conf/l'))
  },
}

const cases = (['inotify', 'poll', 'inotify+poll'] as const).flatMap((backend) =>
  Object.keys(ways).flatMap((how) =>
    [
      ['file', 'file'],
      ['file', 'nothing'],
      ['nothing', 'file'],
      ['file', 'directory'],
      ['directory', 'file'],
      ['directory', 'directory'],
    ].map(([from, to]) => ({ backend, how, from: from as string, to: to as string })),
  ),
)

test.for(cases)('$backend, $how: from $from to $to', async ({ backend, how, from, to }) => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const each of ['store', 'conf']) mkdirSync(at(each))
  const make = (name: string, kind: string) => {
    if (kind === 'file') writeFileSync(at(`store/${name}`), name)
    if (kind === 'directory') mkdirSync(at(`store/${name}`))
    return `../store/${name}`
  }
  symlinkSync(make('0', from), at('conf/l'))
  const next = make('1', to)
  await untilPast(at('store'))
  const options = { interval: NEVER, recursive: true, followSymlinks: true }
  const choose = async () => ({ backend, why: 'a test' })
  const { told } = await watching(at('conf'), options, { choose })
  const replay = new Replay()
  for (const [path, kind] of reality(at('conf')))
    replay.names.set(path, path === at('conf/l') && from === 'directory' ? 'directory' : kind)
  await told()
  ways[how]?.(at, next)
  const changes = await told()
  // Each change fits the ones before.
  replay.apply(changes)
  const of = changes.filter((change) => 'path' in change && change.path === at('conf/l'))
  const types = of.map(({ type }) => type)
  const arrivals = types.filter((type) => type !== 'delete')
  const story = of.map((change) => inWords(change, base))
  if (from !== 'directory' && to !== 'directory') expect(arrivals, `${story}`).toHaveLength(1)
  else expect(replay.names.get(at('conf/l'))).toBe(to === 'directory' ? 'directory' : 'symlink')
  expect(await told()).toEqual([])
  // Changes of the new target are told as before, and changes of the old one are not.
  if (to !== 'file') return
  if (from === 'file') appendFileSync(at('store/0'), 'x')
  expect(await told()).toEqual([])
  appendFileSync(at('store/1'), 'x')
  expect((await told()).map((change) => inWords(change, base))).toContain('modify symlink conf/l')
})
