// Others remove, rename or replace the directory that is mirrored to: what is there then is mirrored to, if it may be.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { rounds } from '../support/long.ts'
import { begin, directory, fixture, inMemory } from './fixture.ts'
import { shownIn, stagingIn } from './names.ts'
import { said } from './said.ts'

const REMOVALS = rounds(process.env.REMOVALS, { quick: 15, long: 50 })

describe('the target itself', () => {
  /** A mirror of so many sources, each with a key and a file beside it. */
  async function mirrorOf(count: number) {
    const { source, target } = fixture()
    const sources = [source, directory(), directory()].slice(0, count)
    for (const [index, each] of sources.entries()) {
      await atomicWrite(each, { [`key${index}`]: '1' })
      await writeFile(join(each, `flat${index}`), '1')
    }
    return { source, sources, target, mirror: await begin(sources, target) }
  }

  const moves: Record<string, (target: string) => Promise<void>> = {
    removed: (target) => rm(target, { recursive: true }),
    renamed: (target) => rename(target, `${target}.away`),
    replaced: async (target) => {
      await rename(target, `${target}.away`)
      await mkdir(target)
      await writeFile(join(target, 'theirs'), '')
    },
    'replaced by a link to a directory': async (target) => {
      await rename(target, `${target}.away`)
      await mkdir(`${target}.other`)
      await symlink(`${target}.other`, target)
    },
  }
  for (const [how, move] of Object.entries(moves)) {
    for (const count of [1, 3]) {
      test(`${how}, ${count} sources: it is said, and what is there is mirrored to`, async () => {
        const { source, sources, target, mirror } = await mirrorOf(count)
        const { errors, states } = said(mirror)
        await move(target)
        await mirror.refresh()
        await mirror.refresh()
        for (const index of sources.keys()) {
          expect(await readFile(join(target, `key${index}`), 'utf8')).toBe('1')
          expect(await readFile(join(target, `flat${index}`), 'utf8')).toBe('1')
        }
        expect(errors).toMatchObject([{ code: 'ESTALE', path: target }])
        expect(states).toEqual([])
        expect(mirror.errors).toEqual([])
        await writeFile(join(source, 'flat0'), '2')
        await mirror.refresh()
        expect(await readFile(join(target, 'flat0'), 'utf8')).toBe('2')
        const away = `${target}.away`
        if (existsSync(away)) expect(await readFile(join(away, 'flat0'), 'utf8'), 'as it was').toBe('1')
        await mirror.close()
        if (how === 'replaced') expect(await readdir(target)).toEqual(['theirs'])
      })
    }
  }

  test(`removed ${REMOVALS} times, each in the midst of passes: no source is taken for lost`, async () => {
    const { sources, target, mirror } = await mirrorOf(3)
    const { errors, states } = said(mirror)
    for (let n = 0; n < REMOVALS; n++) {
      const passes = Promise.all([mirror.refresh(), mirror.refresh()])
      // rm() also removes entries that the passes put there meanwhile.
      await rm(target, { recursive: true, force: true, maxRetries: 100, retryDelay: 1 })
      await passes
    }
    await mirror.refresh()
    await mirror.refresh()
    for (const index of sources.keys())
      expect(await readFile(join(target, `key${index}`), 'utf8'), `key${index}`).toBe('1')
    expect(states).toEqual([])
    // ENOENT: it went while something was being put there.
    expect(errors.filter(({ message }) => !/^(ESTALE|ENOENT): /.test(message))).toEqual([])
  })

  test('one that comes to lie in the source is refused, and what is in the source stays', async () => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'sub'))
    await writeFile(join(source, 'sub/file'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    await rename(target, `${target}.away`)
    await symlink(join(source, 'sub'), target)
    await mirror.refresh()
    await mirror.refresh()
    expect(errors).toMatchObject([{ code: 'EINVAL', path: target }])
    expect(await readdir(join(source, 'sub'))).toEqual(['file'])
    await unlink(target)
    await mirror.refresh()
    expect(await readFile(join(target, 'sub/file'), 'utf8')).toBe('1')
    expect(mirror.errors).toEqual([])
  })

  for (const count of [1, 3]) {
    test(`cleared with all in it, the mirror's own directory too, ${count} sources: it is said, and all comes back`, async () => {
      const { source, sources, target, mirror } = await mirrorOf(count)
      const { errors } = said(mirror)
      for (const name of await readdir(target)) await rm(join(target, name), { recursive: true })
      await mirror.refresh()
      await mirror.refresh()
      for (const index of sources.keys())
        for (const name of [`key${index}`, `flat${index}`])
          expect(await readFile(join(target, name), 'utf8'), name).toBe('1')
      expect(errors).toMatchObject([{ code: 'ESTALE', path: target }])
      await atomicWrite(source, { key0: '2' })
      await mirror.refresh()
      await mirror.refresh()
      expect(await readFile(join(target, 'key0'), 'utf8')).toBe('2')
      expect(mirror.errors).toEqual([])
      await mirror.close()
      expect(existsSync(target)).toBe(false)
    })
  }

  test("directories that are empty are removed, the mirror's own place for what it makes ready among them", async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    const staging = await stagingIn(target)
    await rmdir(join(staging, 'work0'))
    await writeFile(join(source, 'a'), '2')
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(errors).toEqual([])
  })

  test('close() removes no other directory that is at its path by then', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    await rename(target, `${target}.away`)
    await mkdir(target)
    await mirror.close()
    expect(await readdir(target)).toEqual([])
  })

  test('others may write the way to it: what they put there is not written to', async () => {
    const { source } = fixture()
    const parent = inMemory()
    await chmod(parent, 0o777)
    const target = join(parent, 'target')
    await writeFile(join(source, 'a'), '1')
    const mirror = await begin(source, target)
    const { errors } = said(mirror)
    const elsewhere = directory()
    for (const [put, away] of [
      [() => symlink(elsewhere, target), () => unlink(target)],
      [() => mkdir(join(target, 'theirs'), { recursive: true }), () => rm(target, { recursive: true })],
    ] as const) {
      errors.length = 0
      await rename(target, `${target}.away`)
      await put()
      await mirror.refresh()
      await mirror.refresh()
      expect(errors).toMatchObject([{ code: 'EPERM', path: target }])
      expect(await readdir(elsewhere)).toEqual([])
      expect((await readdir(target)).filter((name) => name !== 'theirs')).toEqual([])
      await away()
      await rename(`${target}.away`, target)
      await mirror.refresh()
      expect(mirror.errors).toEqual([])
    }
    // Nothing there, or something empty, is as good as what the mirror makes.
    await rm(target, { recursive: true })
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
    await rename(target, `${target}.away`)
    await mkdir(target)
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  })

  test('renamed and back: nothing is doubled, and close() leaves nothing', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    mirror.on('error', () => {})
    await rename(target, `${target}.away`)
    await mirror.refresh()
    await rm(target, { recursive: true })
    await rename(`${target}.away`, target)
    await mirror.refresh()
    expect(await shownIn(target)).toEqual(['a'])
    await mirror.close()
    expect(existsSync(target)).toBe(false)
  })

  test('removed just before close(), which has nothing to remove then', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    await rm(target, { recursive: true })
    await mirror.close()
    expect(existsSync(target)).toBe(false)
  })

  test('one that is immutable is named', async ({ skip }) => {
    const { source } = fixture()
    const target = directory()
    await writeFile(join(source, 'a'), '1')
    if (spawnSync('chattr', ['+i', target]).status !== 0) skip('needs root and a file system with chattr +i')
    const free = () => spawnSync('chattr', ['-i', target])
    onTestFinished(() => void free())
    await expect(begin(source, target)).rejects.toMatchObject({ code: 'EPERM', path: target })
    free()
    const started = await begin(source, target)
    onTestFinished(() => void free())
    const { errors } = said(started)
    spawnSync('chattr', ['+i', target])
    await writeFile(join(source, 'a'), '2')
    await writeFile(join(source, 'b'), '2')
    await started.refresh()
    await started.refresh()
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors)
      expect(error).toMatchObject({ code: 'EPERM', path: expect.stringContaining(target) })
    expect(errors[0]?.message).toContain('immutable')
    free()
    await started.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  })
})
