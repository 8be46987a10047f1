// A file system may give the inode number of what somebody has removed to the next thing that is made: ext4 does so at once.
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Placed } from '../../src/mirror/plan/tree.ts'
import { FileStat } from '../../src/mounts/syscalls/file_stat.ts'
import { begin, directory, fixture } from './fixture.ts'

/** A directory of root's as statx(2) tells of it. */
function directoryMadeAt(btimeNs: bigint): FileStat {
  const packed = Buffer.alloc(FileStat.BYTES)
  const fields = [12n, 0o40755n, 0n, 0n, 4096n, 1n, 1n, 2n, 1n, 8n, btimeNs]
  for (const [index, value] of fields.entries()) packed.writeBigUInt64LE(value, 8 * index)
  return new FileStat(packed)
}

test('a directory that was made later is another one, whatever its number', () => {
  const made = directoryMadeAt(1_000n)
  const placed = new Placed(made)
  const later = directoryMadeAt(2_000n)
  for (const moment of ['put in place', 'seen there']) {
    expect([placed.isSame(later), placed.holds(later), placed.verify(later)], moment).toEqual([
      false,
      false,
      false,
    ])
    expect(placed.verify(made), moment).toBe(true)
  }
  // A file system without birth times (0) leaves only the number to compare.
  expect(placed.verify(directoryMadeAt(0n))).toBe(true)
})

test('a directory of the number that the removed one had goes with all in it', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  await mkdir(join(source, 'd'))
  await writeFile(join(source, 'd/a'), '1')
  const mirror = await begin(source, target)
  const at = join(target, 'd')
  const { ino, birthtimeNs } = await stat(at, { bigint: true })
  // Two directories made within a tick of the file system's clock look alike: waits for the next tick.
  for (let now = birthtimeNs, n = 0; now === birthtimeNs; n++) {
    await writeFile(join(target, `tick${n}`), '')
    now = (await stat(join(target, `tick${n}`), { bigint: true })).birthtimeNs
  }
  await rm(at, { recursive: true })
  if (!(await isMadeOfNumber(ino, at))) skip('this file system does not give a number again')
  await writeFile(join(at, 'theirs'), '')
  await mirror.refresh()
  expect(await readdir(at)).toEqual(['a'])
})

/** Makes directories beside `at` until one has the number, which is then put there. */
async function isMadeOfNumber(ino: bigint, at: string): Promise<boolean> {
  for (let n = 0; n < 100; n++) {
    const next = `${at}.${n}`
    await mkdir(next)
    if ((await stat(next, { bigint: true })).ino !== ino) continue
    await rename(next, at)
    return true
  }
  return false
}
