import { expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { historyOf } from './history.ts'

const of = (change: object) => ({ kind: 'directory', mask: 0, source: 'inotify', ...change }) as Change

test('what is told of a path is followed through the names that it, and what it lies in, had before', () => {
  const changes = [
    of({ type: 'create', path: '/r/a/d' }),
    of({ type: 'create', path: '/r/b' }),
    of({ type: 'rename', from: '/r/a', path: '/r/c', replaced: false }),
    of({ type: 'create', path: '/r/c/other' }),
    of({ type: 'exchange', path: '/r/c', other: '/r/b', otherKind: 'directory' }),
    of({ type: 'delete', path: '/r/c' }),
    of({ type: 'attrib', path: '/r/b/d/x' }),
  ]
  expect(historyOf(changes, '/r/b/d/x')).toEqual([0, 2, 4, 6])
  expect(historyOf(changes, '/r/c')).toEqual([1, 4, 5])
})
