import { describe, expect, test } from 'vitest'
import { eventsOf, reportedAs } from '../../src/cli/watch/change_events.ts'
import { inotifywaitNames, maskOfNames } from '../../src/cli/watch/event_names.ts'
import { IN_ALL_EVENTS } from '../../src/inotify/constants.ts'
import type { EntryChange, ExchangeChange, Kind, RenameChange } from '../../src/watch/report/change.ts'

function change(type: EntryChange['type'], events: string, kind: Kind = 'file'): EntryChange {
  const mask = events === '' ? 0 : maskOfNames([events])
  return { type, path: '/d/f', kind, mask, source: mask === 0 ? 'poll' : 'inotify' }
}

const renamed: RenameChange = {
  type: 'rename',
  from: '/d/a',
  path: '/d/b',
  replaced: false,
  kind: 'directory',
  mask: 0,
  source: 'poll',
}

const exchanged: ExchangeChange = {
  type: 'exchange',
  path: '/d/b',
  other: '/d/a',
  kind: 'file',
  otherKind: 'directory',
  mask: 0,
  source: 'inotify',
}

function told(change: EntryChange | RenameChange | ExchangeChange, asked?: string): string[] {
  const mask = asked === undefined ? IN_ALL_EVENTS : maskOfNames([asked])
  const events = reportedAs(change).flatMap((each) => eventsOf(each, mask))
  return events.map(({ path, mask }) => `${path} ${inotifywaitNames(mask)}`)
}

describe('by events', () => {
  test('a line for each event of a change, in the order of the kernel', () => {
    expect(told(change('modify', 'close_write,modify'))).toEqual(['/d/f MODIFY', '/d/f CLOSE_WRITE,CLOSE'])
    expect(told(change('create', 'create', 'directory'))).toEqual(['/d/f CREATE,ISDIR'])
    expect(told(renamed)).toEqual(['/d/a MOVED_FROM,ISDIR', '/d/b MOVED_TO,ISDIR'])
  })

  test('of an exchange those of two renames, which are told apart', () => {
    const lines = ['/d/a MOVED_FROM', '/d/b MOVED_TO', '/d/b MOVED_FROM,ISDIR', '/d/a MOVED_TO,ISDIR']
    expect(told(exchanged)).toEqual(lines)
    expect(reportedAs(exchanged).map((each) => eventsOf(each, IN_ALL_EVENTS).length)).toEqual([2, 2])
    expect(told(exchanged, 'moved_to')).toEqual([lines[1], lines[3]])
  })

  test('the event is told, not the type: what came from outside was moved', () => {
    expect(told(change('create', 'moved_to'))).toEqual(['/d/f MOVED_TO'])
    expect(told(change('modify', 'moved_to'))).toEqual(['/d/f MOVED_TO'])
    expect(told(change('delete', 'moved_from'))).toEqual(['/d/f MOVED_FROM'])
  })

  test('only the events that were asked for', () => {
    expect(told(change('modify', 'close_write,modify'), 'close')).toEqual(['/d/f CLOSE_WRITE,CLOSE'])
    expect(told(change('modify', 'modify'), 'close_write')).toEqual([])
    expect(told(change('create', 'create'), 'moved_to')).toEqual([])
    expect(told(change('delete', 'delete'), 'moved_from')).toEqual([])
    expect(told(renamed, 'moved_to')).toEqual(['/d/b MOVED_TO,ISDIR'])
  })
})

describe('by comparing, without an event', () => {
  test('the events of one whole write', () => {
    expect(told(change('create', ''))).toEqual(['/d/f CREATE', '/d/f CLOSE_WRITE,CLOSE'])
    expect(told(change('create', '', 'directory'))).toEqual(['/d/f CREATE,ISDIR'])
    expect(told(change('create', '', 'symlink'))).toEqual(['/d/f CREATE'])
    expect(told(change('modify', ''))).toEqual(['/d/f MODIFY', '/d/f CLOSE_WRITE,CLOSE'])
    expect(told(change('attrib', ''))).toEqual(['/d/f ATTRIB'])
    expect(told(change('delete', ''))).toEqual(['/d/f DELETE'])
  })

  test('who waits for a finished file, or for a rename alone, is told of what may be one', () => {
    expect(told(change('create', ''), 'close_write,moved_to')).toEqual(['/d/f CLOSE_WRITE,CLOSE'])
    expect(told(change('create', ''), 'moved_to')).toEqual(['/d/f MOVED_TO'])
    expect(told(change('create', '', 'symlink'), 'close_write,moved_to')).toEqual(['/d/f MOVED_TO'])
    expect(told(change('modify', ''), 'moved_to')).toEqual(['/d/f MOVED_TO'])
    expect(told(change('delete', ''), 'moved_from')).toEqual(['/d/f MOVED_FROM'])
    expect(told(change('modify', ''), 'create,delete,attrib')).toEqual([])
    expect(told(change('attrib', ''), 'modify')).toEqual([])
  })

  test('as well where the event that told of it was of another kind', () => {
    expect(told(change('create', 'modify'), 'create')).toEqual(['/d/f CREATE'])
    expect(told(change('delete', 'moved_to'))).toEqual(['/d/f DELETE'])
  })
})
