// Followed links: the changes of their targets are told, whatever happens to the link, to its target, or to a
// link on the way.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Kind, WatchOptions } from '../../../../src/index.ts'
import { isLong } from '../../../support/long.ts'
import { scratch } from '../../../support/scratch.ts'
import { story, watching } from '../../support.ts'
import { losing } from '../losing.ts'
import { play } from './play.ts'
import { scenarios } from './scenarios.ts'

const NEVER = 1_000_000

const IGNORING: WatchOptions = { ignore: ['/nowhere'] }

// Each scenario is played by events, by polling and by the rescan after an overflow. Quick runs play each in
// one of the settings, in turn.
describe.each<
  [source: string, backend: 'inotify' | 'poll', settings: WatchOptions, turn: number, turns: number]
>([
  ['by events', 'inotify', {}, 0, 2],
  ['by events, with ignore rules', 'inotify', IGNORING, 1, 2],
  ['by polling', 'poll', {}, 0, 3],
  ['by polling, with ignore rules', 'poll', IGNORING, 1, 3],
  ['by polling, with digests', 'poll', { hash: true }, 2, 3],
  ['by the rescan after an overflow', 'inotify', {}, 0, 2],
  ['by the rescan after an overflow, with ignore rules', 'inotify', IGNORING, 1, 2],
])('%s', (source, backend, settings, turn, turns) => {
  const played = scenarios.filter((_, n) => isLong || n % turns === turn)
  test.each(played.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
    const options = { backend, recursive: true, followSymlinks: true, interval: NEVER, ...settings }
    const { system, lose } = losing()
    const watch = async (root: string) => (await watching(root, options, system)).told
    await play(scenario, watch, source.includes('overflow') ? lose : undefined)
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
      ...settings,
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
