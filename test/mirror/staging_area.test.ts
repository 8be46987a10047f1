// What several sources' passes have staged, and one of them takes from another.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { StagingArea } from '../../src/mirror/copy/staging_area.ts'
import type { TargetFile } from '../../src/mirror/plan/tree.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { directory } from './fixture.ts'

const KEPT = 5

/** Areas of two sources, the first with files that are kept. */
async function areas() {
  const path = directory()
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  const staging = await DirectoryHandle.open(calls, path)
  const all = new Map<number, Promise<StagingArea>>()
  for (const source of [0, 1]) {
    mkdirSync(join(path, `${source}`))
    all.set(source, StagingArea.open(staging, `${source}`, path, all))
  }
  const [one, other] = await Promise.all([all.get(0), all.get(1)])
  if (one === undefined || other === undefined) throw new Error('no areas')
  const files = Array.from({ length: KEPT }, (_, i): TargetFile => {
    const file = { kind: 'file', digest: `${i}` } as TargetFile
    const name = one.next()
    writeFileSync(join(path, '0', name), file.digest)
    one.files.set(file, name)
    return file
  })
  one.keep()
  return { one, other, files }
}

test('what another pass releases while this one clears up is there until the next', async () => {
  const { one, other, files } = await areas()
  const cleared = one.clear()
  one.release()
  await cleared
  for (const file of files) expect(one.has(file) ? await other.take(file) : 'gone').toMatch(/^\d+$/)
  await one.clear()
  expect(await one.held.names()).toEqual([])
})

test('a name that is kept is not given again, whoever releases it meanwhile', async () => {
  const { one, files } = await areas()
  const cleared = one.clear()
  one.release()
  await cleared
  expect(Number(one.next())).toBeGreaterThanOrEqual(files.length)
})

test('a file that cannot be taken is not said to be there again', async () => {
  const { one, other, files } = await areas()
  for (const name of await one.held.names()) await one.held.calls.unlink(one.held.at(name))
  for (const file of files) {
    await expect(other.take(file)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(one.has(file)).toBe(false)
  }
})
