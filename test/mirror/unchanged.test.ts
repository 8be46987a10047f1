// A recursive watcher of the target hears nothing of a source in which nothing changes.
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import {
  formatMask,
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVE,
  Inotify,
} from '../../src/index.ts'
import { TWO_TICKS } from '../../src/mirror/source/rest.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { fixture } from './fixture.ts'

const CHANGES = IN_CREATE | IN_MOVE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE

/** Watches a directory and all directories that are below it now. Returns a function that returns the events so far. */
function listen(directory: string): () => Promise<string[]> {
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  const heard: string[] = []
  let last = () => {}
  let asked = 0
  inotify.on('events', (batch) => {
    for (const { mask, name } of batch) {
      if (name === `end ${asked}`) last()
      else heard.push(`${formatMask(mask & ~IN_ISDIR)} ${name}`)
    }
  })
  const below = readdirSync(directory, { recursive: true, withFileTypes: true })
  for (const each of below) if (each.isDirectory()) inotify.add(join(each.parentPath, each.name), CHANGES)
  inotify.add(directory, CHANGES)
  const aside = join(directory, '..', 'aside')
  mkdirSync(aside)
  inotify.add(aside, IN_CREATE)
  return async () => {
    // The event of this file comes behind all others.
    const seen = new Promise<void>((resolve) => {
      last = resolve
    })
    writeFileSync(join(aside, `end ${++asked}`), '')
    await seen
    return heard
  }
}

/** Passes far enough apart for what one has read to be confirmed by the next. */
async function look(mirror: { refresh(): Promise<void> }): Promise<void> {
  for (let pass = 0; pass < 4; pass++) {
    await sleep(2 * TWO_TICKS)
    await mirror.refresh()
  }
}

test('a source that is read again and has not changed makes no event in the target', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { 'app.yaml': 'a', 'tls.key': 'k' })
  await writeFile(join(source, 'flat'), 'f')
  mkdirSync(join(source, 'sub'))
  await writeFile(join(source, 'sub', 'deep'), 'd')
  const mirror = await start()
  const heard = listen(target)
  await look(mirror)
  expect(await heard()).toEqual([])
})

test('nor does one that has just been swapped, when it is read once more', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { 'app.yaml': 'a', 'tls.key': 'k' })
  const mirror = await start()
  await look(mirror)
  await atomicWrite(source, { 'app.yaml': 'b', 'tls.key': 'k' })
  await mirror.refresh()
  const heard = listen(target)
  await look(mirror)
  expect(await heard()).toEqual([])
})

test('a file that is touched makes none, and one whose mode changes its own alone', async () => {
  const { source, target, start } = fixture()
  const file = join(source, 'flat')
  await writeFile(file, 'f')
  const mirror = await start()
  const heard = listen(target)
  utimesSync(file, new Date(), new Date(0))
  await look(mirror)
  expect(await heard()).toEqual([])
  await chmod(file, 0o640)
  await look(mirror)
  expect(await heard()).toEqual(['IN_ATTRIB flat'])
})

test('a generation that was written to within the tick in which it was read is seen, though no stat key tells', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { 'app.yaml': 'two', 'tls.key': 'k' })
  // The first read returns what the file held a moment before.
  const { openRegular } = SyscallThread.prototype
  let isFirst = true
  const open = vi.spyOn(SyscallThread.prototype, 'openRegular').mockImplementation(async function (
    this: SyscallThread,
    at,
    most,
  ) {
    const opened = await openRegular.call(this, at, most)
    const isEarlier = isFirst && at.name === 'app.yaml'
    isFirst &&= !isEarlier
    return isEarlier ? { ...opened, content: Buffer.from('one') } : opened
  })
  onTestFinished(() => open.mockRestore())
  const mirror = await start()
  expect(await readFile(join(target, 'app.yaml'), 'utf8')).toBe('one')
  await look(mirror)
  expect(await readFile(join(target, 'app.yaml'), 'utf8')).toBe('two')
  expect(await readFile(join(target, 'tls.key'), 'utf8')).toBe('k')
})
