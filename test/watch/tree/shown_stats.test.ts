import { expect, test } from 'vitest'
import type { Change } from '../../../src/watch/report/change.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { ShownStats } from '../../../src/watch/tree/shown_stats.ts'
import { seen } from './believed.ts'

const directory = () => new Directory('/d', 1, new WatchedMount('inotify', '', 1))

test('what nobody can see is given up, unless it is asked for again', () => {
  const shown = new ShownStats()
  const d = directory()
  for (const name of ['a', 'b']) shown.ask(d, name)
  for (let i = 0; i < 7; i++) for (const name of ['a', 'b']) shown.miss(d, name)
  shown.ask(d, 'b')
  for (const name of ['a', 'b']) shown.miss(d, name)
  expect([...(shown.asked.get(d)?.keys() ?? [])]).toEqual(['b'])
  shown.answer(d, 'b')
  expect(shown.asked.size).toBe(0)
})

test('a change that somebody keeps leads nowhere any more when the next command begins', () => {
  const shown = new ShownStats()
  const change: Change = { type: 'create', path: '/d/f', kind: 'file', mask: 0, source: 'rescan' }
  shown.askFor(change, { directory: directory(), name: 'f' })
  expect(shown.placesOf(change)).toHaveLength(1)
  shown.advance()
  expect(shown.placesOf(change)).toBeUndefined()
})

test('what an event tells has not been seen before; what a scan tells, by the scan', () => {
  const shown = new ShownStats()
  const d = directory()
  const change = (source: 'inotify' | 'rescan'): Change => {
    return { type: 'modify', path: '/d/f', kind: 'file', mask: 0, source }
  }
  shown.note(d, 'f', seen('file', 5))
  shown.askFor(change('rescan'), { directory: d, name: 'f' })
  expect(shown.isFresh(d, 'f')).toBe(true)
  shown.askFor(change('inotify'), { directory: d, name: 'f' })
  expect(shown.isFresh(d, 'f')).toBe(false)
  shown.note(d, 'f', seen('file', 5))
  shown.advance()
  expect([shown.isFresh(d, 'f'), shown.get(d, 'f')?.ino]).toEqual([false, 5])
})

test('one that is seen otherwise is looked at again; one that has no other stat, if nobody keeps what was seen', () => {
  const shown = new ShownStats()
  const d = directory()
  const entry = seen('file', 5)
  shown.note(d, 'f', entry)
  shown.doubt(d, 'f', entry, false)
  shown.doubt(d, 'g', entry, true)
  expect(shown.asked.size).toBe(0)
  shown.doubt(d, 'f', seen('file', 5, { size: 1e6 }), true)
  shown.doubt(d, 'g', entry, false)
  expect([...(shown.asked.get(d)?.keys() ?? [])]).toEqual(['f', 'g'])
})
