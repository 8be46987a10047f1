// Files that the passes of several sources have staged, and that one source takes from another.
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { StagingArea } from '../../src/mirror/copy/staging_area.ts'
import type { TargetFile } from '../../src/mirror/plan/tree.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { directory } from './fixture.ts'

const READY = 5

/** Areas of two sources, the first with files that are ready. */
async function areas() {
  const path = directory()
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  const staging = await DirectoryHandle.open(calls, path)
  const all = new Map<number, StagingArea>()
  const open = async (source: number) => {
    const area = await StagingArea.open(staging, `${source}`, path, all)
    all.set(source, area)
    return area
  }
  const [one, other] = [await open(0), await open(1)]
  const files = await Promise.all(
    Array.from({ length: READY }, async (_, i): Promise<TargetFile> => {
      const file = { kind: 'file', digest: `${i}` } as TargetFile
      const name = one.next()
      writeFileSync(join(path, '0', name), file.digest)
      one.add(file, name)
      return file
    }),
  )
  return { path, one, other, files }
}

test('another pass takes what this one keeps, and the rest goes', async () => {
  const { path, one, other, files } = await areas()
  const [kept, ...rest] = files as [TargetFile, ...TargetFile[]]
  await one.clear(new Set([kept]))
  for (const file of rest) expect(one.has(file) || (await other.take(file))).toBeUndefined()
  expect(one.has(kept)).toBe(true)
  const taken = await other.take(kept)
  expect(statSync(join(path, '1', taken ?? '')).isFile()).toBe(true)
  expect(await one.held.names()).toEqual([])
})

test('a name that is kept is not given again', async () => {
  const { one, files } = await areas()
  await one.clear(new Set(files))
  expect(Number(one.next())).toBeGreaterThanOrEqual(files.length)
  await one.clear(new Set())
  expect(await one.held.names()).toEqual([])
})

test('a file that cannot be taken is not said to be there again', async () => {
  const { one, other, files } = await areas()
  for (const name of await one.held.names()) await one.held.calls.unlink(one.held.at(name))
  for (const file of files) {
    await expect(other.take(file)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(one.has(file)).toBe(false)
  }
})
