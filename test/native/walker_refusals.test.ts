import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { scratch } from '../support/scratch.ts'
import { LOOK, NO_FOLLOW_ROOT, openQueue, packRequests, walk } from './walking.mjs'

const { EBADF, EBUSY, EINVAL, ENOENT, ENOTDIR } = constants.errno

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
}

test('what cannot be opened says why, and the others go on', async () => {
  const root = scratch()
  mkdirSync(join(root, 'directory/below'), { recursive: true })
  symlinkSync('directory', join(root, 'link'))
  writeFileSync(join(root, 'file'), '')
  const records = await walk(openWalker(), [
    { flags: 0, root, rel: 'absent' },
    { flags: 0, root, rel: 'link' },
    { flags: 0, root, rel: 'link/below' },
    { flags: 0, root, rel: 'file' },
    { flags: 0, root, rel: 'file/below' },
    { flags: 0, root: join(root, 'absent') },
    { flags: 0, root: join(root, 'file') },
    { flags: NO_FOLLOW_ROOT, root: join(root, 'link') },
    { flags: 0, root: join(root, 'link') },
    { flags: NO_FOLLOW_ROOT, root: join(root, 'link/below') },
    { flags: 0, root, rel: 'z'.repeat(256) },
    { flags: 0, root: `/${'z/'.repeat(3000)}` },
  ])
  const errors = new Map(records.map(({ id, error }) => [id, error]))
  const { ENAMETOOLONG } = constants.errno
  const expected = [
    ENOENT,
    ENOTDIR,
    ENOTDIR,
    ENOTDIR,
    ENOTDIR,
    ENOENT,
    ENOTDIR,
    ENOTDIR,
    0,
    0,
    ENAMETOOLONG,
    ENAMETOOLONG,
  ]
  expect(expected.map((_, i) => errors.get(i))).toEqual(expected.map((errno) => (errno === 0 ? 0 : -errno)))
})

test('arguments that make no sense are refused', () => {
  const walker = openWalker()
  const offer = (packed: Buffer, queue: unknown) => walker.walk(queue as null, 0, packed, () => {})
  const request = (packed: Buffer) => offer(packed, null)
  const valid = packRequests([{ flags: LOOK, root: '/', rel: 'proc', names: ['self'] }])
  for (let length = 1; length < valid.length; length++)
    expect(request(valid.subarray(0, length))).toBe(-EINVAL)
  for (const rel of ['/proc', 'proc/', 'a//b', '.', '..', 'a/../b', 'a\0b']) {
    expect(request(packRequests([{ flags: 0, root: '/', rel }])), rel).toBe(-EINVAL)
  }
  for (const root of ['', 'tmp', '/tmp\0']) {
    expect(request(packRequests([{ flags: 0, root }])), root).toBe(-EINVAL)
  }
  for (const name of ['', '.', '..', '/', 'a\0']) {
    expect(request(packRequests([{ flags: LOOK, root: '/', names: [name, 'b'] }])), name).toBe(-EINVAL)
  }
  for (const queue of [undefined, 1, {}, walker, new Date()]) expect(offer(valid, queue)).toBe(-EINVAL)
  expect(walker.walk(null, 0, 'requests' as unknown as Buffer, () => {})).toBe(-EINVAL)
  expect(walker.walk(null, 0, valid, undefined as unknown as () => void)).toBe(-EINVAL)
  const closed = openQueue(loadAddon())
  closed.close()
  expect(offer(valid, closed)).toBe(-EBADF)
})

test('no requests: one call, and nothing in it', async () => {
  expect(await walk(openWalker(), [])).toEqual([])
})

test('one walk at a time; the next may begin from the last call', async () => {
  const walker = openWalker()
  const packed = packRequests([{ flags: 0, root: '/' }])
  const results: number[] = []
  await new Promise<void>((resolve) => {
    const again = (left: number) => {
      results.push(
        walker.walk(null, 0, packed, (_, done) => {
          if (done) left > 0 ? again(left - 1) : resolve()
        }),
      )
      results.push(walker.walk(null, 0, packed, () => expect.fail('called')))
    }
    again(3)
  })
  expect(results).toEqual([0, -EBUSY, 0, -EBUSY, 0, -EBUSY, 0, -EBUSY])
  walker.close()
  expect(walker.walk(null, 0, packed, () => {})).toBe(-EBADF)
})
