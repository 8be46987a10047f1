import { expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { keyOf } from '../../../src/name_key.ts'
import { encodePaths, pathEncoderOf } from '../../../src/watch/report/change.ts'

const [asText, asBytes] = [pathEncoderOf<string>('utf8'), pathEncoderOf<Buffer>('buffer')]

const bytes = Buffer.from([0x61, 0xff, 0x62])
const path = Buffer.concat([Buffer.from('/r/größe/'), bytes, Buffer.from('/c')])
const key = `/r/größe/${keyOf(bytes)}/c`

const changes = (): Change[] => [
  { type: 'create', path: key, kind: 'file', mask: 1, source: 'inotify' },
  { type: 'rename', from: key, path: '/r/größe', replaced: true, kind: 'file', mask: 2, source: 'poll' },
  { type: 'rename', from: '/r/a', path: key, replaced: false, kind: 'symlink', mask: 3, source: 'rescan' },
  { type: 'lost', path: '/r', kind: 'directory', reason: 'deleted', source: 'inotify' },
]

test('utf8: what is no UTF-8 is U+FFFD', () => {
  expect(encodePaths(changes(), asText)).toEqual([
    { type: 'create', path: '/r/größe/a\ufffdb/c', kind: 'file', mask: 1, source: 'inotify' },
    {
      type: 'rename',
      from: '/r/größe/a\ufffdb/c',
      path: '/r/größe',
      replaced: true,
      kind: 'file',
      mask: 2,
      source: 'poll',
    },
    {
      type: 'rename',
      from: '/r/a',
      path: '/r/größe/a\ufffdb/c',
      replaced: false,
      kind: 'symlink',
      mask: 3,
      source: 'rescan',
    },
    { type: 'lost', path: '/r', kind: 'directory', reason: 'deleted', source: 'inotify' },
  ])
})

test('buffer: the exact bytes', () => {
  const [created, away, back, lost] = encodePaths(changes(), asBytes)
  expect(created).toEqual({ type: 'create', path, kind: 'file', mask: 1, source: 'inotify' })
  expect(away).toMatchObject({ from: path, path: Buffer.from('/r/größe'), replaced: true })
  expect(back).toMatchObject({ from: Buffer.from('/r/a'), path, replaced: false })
  expect(lost).toEqual({
    type: 'lost',
    path: Buffer.from('/r'),
    kind: 'directory',
    reason: 'deleted',
    source: 'inotify',
  })
})

test('characters beyond the basic plane are UTF-8, not bytes', () => {
  const emoji: Change = { type: 'create', path: '/r/\u{1f600}', kind: 'file', mask: 1, source: 'inotify' }
  expect(encodePaths([{ ...emoji }], asText)).toEqual([emoji])
  expect(encodePaths([{ ...emoji }], asBytes)[0]?.path).toEqual(Buffer.from('/r/\u{1f600}'))
})
