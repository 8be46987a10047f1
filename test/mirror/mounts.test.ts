// Full targets, sources that are unmounted, mounts in the way of the mirror: where this process is, since it is the mirror that meets them.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/mirror/mirror.ts'
import { begin, directory, fixture, QUICK } from './fixture.ts'
import { said } from './said.ts'

/** A mirror whose target is a tmpfs of 16 pages. */
async function tiny(source: string, skip: (why: string) => void, prepare: () => Promise<void>) {
  const target = directory()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  await prepare()
  const started = await begin(source, target)
  return { target, started }
}

test('a target so full that not even names can be noted down gets room from what goes', async ({ skip }) => {
  const { source } = fixture()
  const { target, started } = await tiny(source, skip, () =>
    writeFile(join(source, 'a'), 'x'.repeat(13 * 4096)),
  )
  const errors: unknown[] = []
  started.on('error', (error) => errors.push(error))
  // At once: a pass in between would find room.
  unlinkSync(join(source, 'a'))
  for (const name of ['b', 'c']) writeFileSync(join(source, name), 'small')
  await started.refresh()
  await started.refresh()
  expect(errors).toMatchObject([{ code: 'ENOSPC' }])
  expect(existsSync(join(target, 'a'))).toBe(false)
  expect(await readFile(join(target, 'c'), 'utf8')).toBe('small')
})

test('an error is told once while it lasts, however many generations meet it, and again when it is back', async ({
  skip,
}) => {
  const { source } = fixture()
  const { target, started } = await tiny(source, skip, async () => {
    await atomicWrite(source, { key: 'good' })
  })
  const errors: unknown[] = []
  started.on('error', (error) => errors.push(error))
  const tooLarge = async (letter: string) => {
    await atomicWrite(source, { key: letter.repeat(100_000) })
    for (let n = 0; n < 2; n++) await started.refresh()
  }
  for (const letter of ['x', 'y', 'z']) await tooLarge(letter)
  expect(errors).toMatchObject([{ code: 'ENOSPC', path: join(target, '..data/key') }])
  expect(await readFile(join(target, 'key'), 'utf8')).toBe('good')
  await atomicWrite(source, { key: 'good again' })
  await started.refresh()
  expect(errors).toHaveLength(1)
  await tooLarge('x')
  expect(errors).toHaveLength(2)
})

test('of a full target one error is told, however many entries do not fit', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,nr_inodes=30', 'none', target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  await atomicWrite(source, { key: '1' })
  const started = await mirror(source, target, { interval: 60_000, quiet: 5 })
  onTestFinished(() => started.close())
  const { errors } = said(started)
  const many = Array.from({ length: 50 }, (_, n) => [`key${n}`, '2'])
  for (let pass = 0; pass < 3; pass++) {
    await atomicWrite(source, Object.fromEntries(many))
    await started.refresh()
  }
  expect(errors).toMatchObject([{ code: 'ENOSPC' }])
  expect(started.errors.length).toBeGreaterThan(1)
})

test('a mirror that takes over and finds no room rejects, and leaves what it found', async ({ skip }) => {
  const { source } = fixture()
  const { target, started } = await tiny(source, skip, () => writeFile(join(source, 'a'), 'good'))
  await started.close({ keep: true })
  await unlink(join(source, 'a'))
  await atomicWrite(source, { key: 'good' })
  const first = await mirror(source, target, QUICK)
  await first.close({ keep: true })
  await atomicWrite(source, { key: 'x'.repeat(100_000) })
  await expect(mirror(source, target)).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(await readFile(join(target, 'key'), 'utf8')).toBe('good')
  await atomicWrite(source, { key: 'good again' })
  await begin(source, target)
  expect(await readFile(join(target, 'key'), 'utf8')).toBe('good again')
})

test('a full target keeps the last good version and says so; what fits is mirrored', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  await writeFile(join(source, 'a'), 'good')
  const started = await begin(source, target)
  const errors: unknown[] = []
  started.on('error', (error) => errors.push(error))
  await writeFile(join(source, 'a'), 'x'.repeat(100_000))
  await writeFile(join(source, 'b'), 'fits')
  await started.refresh()
  await started.refresh()
  expect(errors).toMatchObject([{ code: 'ENOSPC', path: join(target, 'a') }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('good')
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('fits')
  await expect(mirror(source, join(target, 'second')), 'a first pass').rejects.toMatchObject({
    code: 'ENOSPC',
  })
  expect(existsSync(join(target, 'second'))).toBe(false)
  await writeFile(join(source, 'a'), 'small again')
  await started.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('small again')
})

test('a target that a bind mount hides in the source is not copied into itself', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  await mkdir(join(source, 'sub'))
  await writeFile(join(source, 'a'), '1')
  if (spawnSync('mount', ['--bind', join(source, 'sub'), target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  const started = await begin(source, target)
  expect(started.skipped).toEqual([{ path: 'sub', reason: 'it is the target itself' }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
})

test('an unmounted source is lost, though an empty directory is left at its path', async ({ skip }) => {
  const { source, target, start } = fixture()
  // On the same device as what it covers: only the mount tells the two apart.
  const mounted = directory()
  const mount = () => spawnSync('mount', ['--bind', mounted, source]).status === 0
  // Lazily: what is looked at is held open, as any program's working directory is.
  const unmount = () => spawnSync('umount', ['-l', source]).status === 0
  if (!mount()) skip('needs the right to mount')
  onTestFinished(() => void unmount())
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  expect(unmount()).toBe(true)
  await mirror.refresh()
  expect(mirror.state).toBe('source-lost')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await writeFile(join(mounted, 'a'), '2')
  mount()
  await mirror.refresh()
  expect(mirror.state).toBe('mirroring')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
})

test('another mount of the very directory at its path changes nothing', async ({ skip }) => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  const { errors } = said(mirror)
  if (spawnSync('mount', ['--bind', target, target]).status !== 0) skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', ['-l', target]))
  await writeFile(join(source, 'a'), '2')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(errors).toEqual([])
  spawnSync('umount', ['-l', target])
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
})

test('a mount in a directory of the mirror that goes is not emptied', async ({ skip }) => {
  const { source, target, start } = fixture()
  await mkdir(join(source, 'sub/data'), { recursive: true })
  await writeFile(join(source, 'sub/file'), '1')
  const mirror = await start()
  const { errors } = said(mirror)
  const mounted = join(target, 'sub/data')
  if (spawnSync('mount', ['-t', 'tmpfs', 'none', mounted]).status !== 0) skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [mounted]))
  await writeFile(join(mounted, 'theirs'), 'theirs')
  // At once: a pass in between would say of `sub/data` what the next says of `sub`.
  await rename(join(source, 'sub'), `${source}.gone`)
  await mirror.refresh()
  expect(await readFile(join(mounted, 'theirs'), 'utf8')).toBe('theirs')
  expect(errors).toMatchObject([{ code: 'EBUSY' }])
  spawnSync('umount', [mounted])
  await mirror.refresh()
  expect(existsSync(join(target, 'sub'))).toBe(false)
})

test('a directory in the way that cannot be removed is said, and updates go on', async ({ skip }) => {
  const { source, target, start } = fixture()
  await mkdir(join(target, 'a/mounted'), { recursive: true })
  const mount = () => spawnSync('mount', ['-t', 'tmpfs', 'none', join(target, 'a/mounted')]).status === 0
  if (!mount()) skip('needs the right to mount')
  const mirror = await start()
  const { errors, updates } = said(mirror)
  onTestFinished(() => {
    const table = readFileSync('/proc/self/mountinfo', 'utf8')
    for (const line of table.split('\n'))
      if (line.includes(target)) spawnSync('umount', [line.split(' ')[4] as string])
  })
  await writeFile(join(source, 'a'), '1')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await writeFile(join(source, 'a'), '2')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(updates).toEqual([['a'], ['a']])
  expect(errors).toMatchObject([{ code: 'EBUSY', path: target }])
})
