import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

const BY_HAND = { backend: 'poll', interval: 1_000_000, recursive: true } as const

/** Stores to a file through a mapping: tmpfs sets no time for that. */
const STORE = `
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
mapping = mmap.mmap(file, 0)
os.close(file)
mapping[0:1] = b'1'
sys.stdout.write('mapped'); sys.stdout.flush()
sys.stdin.read(1)
mapping[0:1] = b'2'
sys.stdout.write('stored'); sys.stdout.flush()
sys.stdin.read(1)
`

/** A file on tmpfs in which there is something else, and nothing of its stat tells, after `store`. */
async function mapped() {
  const root = scratch('/dev/shm')
  mkdirSync(join(root, 'd'))
  const path = join(root, 'd/file')
  writeFileSync(path, '0'.repeat(300_000))
  const writer = spawn('python3', ['-c', STORE, path])
  onTestFinished(() => void writer.kill())
  await once(writer.stdout, 'data')
  const before = statSync(path, { bigint: true })
  const store = async () => {
    writer.stdin.write('x')
    await once(writer.stdout, 'data')
    const { atimeNs: _, ...after } = statSync(path, { bigint: true })
    expect(before).toMatchObject({ size: after.size, mtimeNs: after.mtimeNs, ctimeNs: after.ctimeNs })
  }
  return { root, path, store }
}

test('what has the stat of before and holds something else is a modify', async () => {
  const { root, store } = await mapped()
  const { told } = await watching(root, { ...BY_HAND, hash: true })
  expect(await told()).toEqual([])
  await store()
  expect(story(await told(), root)).toEqual(['modify file d/file'])
  expect(await told()).toEqual([])
})

test('without hash it is not seen', async () => {
  const { root, store } = await mapped()
  const { told } = await watching(root, BY_HAND)
  expect(await told()).toEqual([])
  await store()
  expect(await told()).toEqual([])
})

test('at the end of a followed link, too', async () => {
  const { path, store } = await mapped()
  const root = scratch()
  symlinkSync(path, join(root, 'link'))
  const { told } = await watching(root, { ...BY_HAND, hash: true, followSymlinks: true })
  expect(await told()).toEqual([])
  await store()
  expect(story(await told(), root)).toEqual(['modify symlink link'])
  expect(await told()).toEqual([])
})

test('while nobody asks, too', async () => {
  const { root, store } = await mapped()
  const { changes, told } = await watching(root, { ...BY_HAND, interval: 5, hash: true })
  await told()
  await setTimeout(30)
  await store()
  await expect.poll(() => story(changes, root)).toEqual(['modify file d/file'])
})

test.each(['the file', 'a link that leads to it'])('of a root that is %s, too', async (what) => {
  const { path, store } = await mapped()
  const link = join(scratch(), 'link')
  symlinkSync(path, link)
  const root = what === 'the file' ? path : link
  const { told } = await watching(root, { ...BY_HAND, hash: true })
  expect(await told()).toEqual([])
  await store()
  expect(story(await told(), root)).toEqual(['modify file .'])
  expect(await told()).toEqual([])
})

test('a root that is a file is not read without hash, nor one that cannot be', async () => {
  const { path, store } = await mapped()
  const { told } = await watching(path, BY_HAND)
  await store()
  expect(await told()).toEqual([])
  const root = scratch()
  const fifo = join(root, 'fifo')
  execFileSync('mkfifo', [fifo])
  const other = await watching(fifo, { ...BY_HAND, hash: true })
  expect(await other.told()).toEqual([])
  chmodSync(fifo, 0o600)
  expect(story(await other.told(), fifo)).toEqual(['attrib other .'])
})

test('a file that moves and is written to without a trace is both', async () => {
  const { root, path, store } = await mapped()
  const { told } = await watching(root, { ...BY_HAND, hash: true })
  await told()
  await store()
  renameSync(path, join(root, 'moved'))
  expect(story(await told(), root)).toEqual(['rename file d/file moved', 'modify file moved'])
})

test('where events tell as well, what none has told', async () => {
  const both = { choose: async () => ({ backend: 'inotify+poll' as const, why: 'a test' }) }
  const { root, path, store } = await mapped()
  const options = { interval: 1_000_000, recursive: true, hash: true }
  const { told } = await watching(root, options, both)
  expect(await told()).toEqual([])
  await store()
  const found = await told()
  expect(story(found, root)).toEqual(['modify file d/file'])
  expect(found.map(({ source }) => source)).toEqual(['poll'])
  writeFileSync(join(path, '../other'), 'x')
  const others = await told()
  expect(story(others, root)).toEqual(['create file d/other'])
  expect(await told()).toEqual([])
})

test('what is no file is not opened, and what leads to one is not followed', async () => {
  const root = scratch()
  const outside = scratch()
  writeFileSync(join(outside, 'target'), 'x')
  execFileSync('mkfifo', [join(root, 'fifo')])
  symlinkSync(join(outside, 'target'), join(root, 'link'))
  writeFileSync(join(root, 'empty'), '')
  const { told } = await watching(root, { ...BY_HAND, hash: true })
  expect(await told()).toEqual([])
  writeFileSync(join(outside, 'target'), 'y')
  expect(await told()).toEqual([])
  writeFileSync(join(root, 'empty'), 'x')
  expect(story(await told(), root)).toEqual(['modify file empty'])
})
