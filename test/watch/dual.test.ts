import { mkdirSync, renameSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Change, IN_DELETE_SELF } from '../../src/index.ts'
import { Walker } from '../../src/watch/scan/walker.ts'
import { scratch } from '../support/scratch.ts'
import { inWords, Replay, randomFrom, reality, story, watching } from './support.ts'

// On this mount both sources see everything: the second one must not tell a change again.
const both = { choose: async () => ({ backend: 'inotify+poll' as const, why: 'a test' }) }

// The most repeated changes in 200 operations, measured beside four busy processes. Nearly always there are
// none.
const MOST_AGAIN = 6

const isAboutName = ({ type }: Change) => ['create', 'delete', 'rename', 'exchange'].includes(type)

test.each([1, 5])(
  '200 random operations under a poll every %i ms: each is told once, by its event',
  async (interval) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    const random = randomFrom(seed)
    const directory = scratch()
    const { told, changes } = await watching(directory, { interval }, both)
    const names = [...'abcdefgh']
    const there = new Map<string, string>()
    const expected: string[] = []
    const replay = new Replay()
    const nothing = { from: '', to: '' }
    let replacing = nothing
    for (let i = 0; i < 200; i++) {
      const [name, other] = [0, 1].map(() => names[random(names.length)] as string) as [string, string]
      const [path, kind] = [join(directory, name), there.get(name)]
      const isFree = !there.has(other)
      // A rename over a file and back has the events of an exchange, also with only a write between them. The
      // later fate of the names decides which one is told.
      if (name === replacing.to && other === replacing.from) continue
      if (kind === undefined) {
        // No symlinks: the events of one that is gone before the look do not show that it was no file.
        const made = random(2) === 0 ? 'file' : 'directory'
        if (made === 'file') writeFileSync(path, 'x')
        else mkdirSync(path)
        there.set(name, made)
        replacing = nothing
        expected.push(`create ${made} ${name}`)
      } else if (name !== other && (isFree || (kind !== 'directory' && there.get(other) !== 'directory'))) {
        renameSync(path, join(directory, other))
        there.delete(name)
        there.set(other, kind)
        expected.push(`rename ${kind} ${name} ${other}${isFree ? '' : ' replaced'}`)
        replacing = isFree ? nothing : { from: name, to: other }
      } else if (kind === 'directory') {
        rmdirSync(path)
        there.delete(name)
        replacing = nothing
        expected.push(`delete directory ${name}`)
      } else if (random(2) === 0 && kind === 'file') writeFileSync(path, 'longer'.repeat(random(9)))
      else {
        unlinkSync(path)
        there.delete(name)
        replacing = nothing
        expected.push(`delete ${kind} ${name}`)
      }
      // Polls fall everywhere: between two operations, and in the midst of several.
      const pause = random(6)
      if (pause < 2) await new Promise((resolve) => setTimeout(resolve, random(3)))
      else if (pause === 2) await new Promise(setImmediate)
    }
    const all = await told()
    expect(changes).toEqual([])
    const [byEvents, again] = [
      all.filter(({ source }) => source === 'inotify'),
      all.filter(({ source }) => source !== 'inotify'),
    ]
    const lines = byEvents.filter(isAboutName).map((change) => inWords(change, directory))
    expect(lines, `SEED=${seed}`).toEqual(expected)
    // A file was moved away before a look: the look takes the file that it finds for the moved one. A poll
    // may then tell once more that the moved file is another one, or has come from the other one's place.
    const moved = new Set(
      byEvents.flatMap((change) => (change.type === 'rename' ? [change.path, change.from] : [])),
    )
    const unlike = again.filter(
      (change) =>
        change.type === 'delete' ||
        !('mask' in change) ||
        change.kind === 'directory' ||
        !moved.has(change.path),
    )
    expect(unlike, `SEED=${seed}`).toEqual([])
    expect(again.length, `SEED=${seed}`).toBeLessThanOrEqual(MOST_AGAIN)
    replay.apply(all)
    expect(replay.names).toEqual(reality(directory))
  },
)

test('a write is told by its event, and its end too', async () => {
  const directory = scratch()
  writeFileSync(join(directory, 'a'), '')
  const { told } = await watching(directory, { interval: 1_000_000 }, both)
  writeFileSync(join(directory, 'a'), 'more')
  const changes = await told()
  expect(changes.map((change) => [inWords(change, directory), change.source])).toEqual(
    changes.map(() => ['modify file a', 'inotify']),
  )
  expect(changes.reduce((all, change) => all | ('mask' in change ? change.mask : 0), 0)).toBe(2 | 8)
})

test('what no event tells, a poll does', async () => {
  const directory = scratch()
  // This mount is silent about all but the root itself.
  const silent = { ...both, openWalker: () => new Walker(IN_DELETE_SELF) }
  const { told, changes } = await watching(directory, { interval: 3 }, silent)
  mkdirSync(join(directory, 'a'))
  await expect.poll(() => story(changes, directory)).toEqual(['create directory a'])
  renameSync(join(directory, 'a'), join(directory, 'b'))
  const all = await told()
  expect(story(all, directory)).toEqual(['create directory a', 'rename directory a b'])
  expect(all.every(({ source }) => source === 'poll')).toBe(true)
})
