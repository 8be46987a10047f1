// Sources whose ..data leads on by other links, or to nothing.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdir, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/mirror/mirror.ts'
import { begin, directory, fixture } from './fixture.ts'
import { said } from './said.ts'

/** A ConfigMap's directory of which `..data` leads by one more link to the generation: ..data -> middle -> ..N. */
async function chained(source: string, middle: string) {
  const make = async (n: number) => {
    await mkdir(join(source, `..${n}`))
    for (const key of ['a', 'b']) await writeFile(join(source, `..${n}`, key), `${n}`)
    await swap(middle, `..${n}`)
  }
  const swap = async (name: string, to: string) => {
    await symlink(to, join(source, '..tmp'))
    await rename(join(source, '..tmp'), join(source, name))
  }
  await make(1)
  await swap('..data', `./${middle}`)
  for (const key of ['a', 'b']) await symlink(`..data/${key}`, join(source, key))
  return { make, swap }
}

test.each(['..current', 'current'])(
  '..data leads over %s: that is followed, and its swaps are',
  async (middle) => {
    const { source, target, start } = fixture()
    const { make } = await chained(source, middle)
    await writeFile(join(source, 'flat'), 'flat')
    const mirror = await start({ interval: 10 })
    const { states, skipped } = said(mirror)
    const read = (name: string) => readFileSync(join(target, name), 'utf8')
    expect([read('a'), read('flat'), readlinkSync(join(target, '..data'))]).toEqual(['1', 'flat', '..1'])
    if (middle === 'current') expect(read('current/b')).toBe('1')
    for (let n = 2; n <= 5; n++) {
      await make(n)
      // Found by itself.
      await expect.poll(() => [read('a'), read('b')], { interval: 5 }).toEqual([`${n}`, `${n}`])
      if (middle === 'current') expect(read('current/b')).toBe(`${n}`)
    }
    expect({ states, skipped, lacking: mirror.lacking }).toEqual({
      states: [],
      skipped: [],
      lacking: undefined,
    })
  },
)

const BROKEN = {
  'leads to what is not there': async (source: string) => symlink('..gone', join(source, '..data')),
  'leads to a file': async (source: string) => {
    await writeFile(join(source, '..file'), '')
    await symlink('..file', join(source, '..data'))
  },
  'leads to itself': async (source: string) => {
    await symlink('..other', join(source, '..data'))
    await symlink('..data', join(source, '..other'))
  },
}

test.each(Object.entries(BROKEN))(
  '..data %s: that is said, and files beside it are mirrored',
  async (_, make) => {
    const { source, target, start } = fixture()
    await make(source)
    await symlink('..data/key', join(source, 'key'))
    await writeFile(join(source, 'flat'), '1')
    const mirror = await start()
    expect(mirror.skipped).toMatchObject([{ path: '..data', reason: expect.stringMatching(/^leads to /) }])
    expect(mirror.lacking).toMatchObject({ path: '..data', isPassing: false })
    await writeFile(join(source, 'flat'), '2')
    await mirror.refresh()
    expect(readdirSync(target).filter((name) => !name.startsWith('.inotify'))).toEqual(['flat'])
    expect(readFileSync(join(target, 'flat'), 'utf8')).toBe('2')
    await unlink(join(source, '..data'))
    await unlink(join(source, 'key'))
    await atomicWrite(source, { key: 'now' })
    await mirror.refresh()
    expect([mirror.skipped, mirror.lacking]).toEqual([[], undefined])
    expect(readFileSync(join(target, 'key'), 'utf8')).toBe('now')
  },
)

test('while it leads nowhere keys keep their last good version, and files go on', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { stays: '1', 'n/nested': '1' })
  await writeFile(join(source, 'becomes'), 'flat')
  const mirror = await start()
  const data = await readlink(join(source, '..data'))
  await rename(join(source, data), join(source, '..away'))
  await writeFile(join(source, 'flat'), 'new')
  await unlink(join(source, 'becomes'))
  await symlink('..data/becomes', join(source, 'becomes'))
  await mirror.refresh()
  const read = (name: string) => readFileSync(join(target, name), 'utf8')
  expect(['stays', 'n/nested', 'becomes', 'flat'].map(read)).toEqual(['1', '1', 'flat', 'new'])
  // Complete once: what cannot be had now is in `skipped`.
  expect([mirror.lacking, mirror.skipped]).toMatchObject([undefined, [{ path: '..data' }]])
  await writeFile(join(source, '..away/becomes'), 'key')
  await rename(join(source, '..away'), join(source, data))
  await mirror.refresh()
  expect(['stays', 'becomes'].map(read)).toEqual(['1', 'key'])
})

test('the next mirror keeps what it finds of a source whose ..data is broken', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { key: '1' })
  await (await start()).close({ keep: true })
  await rm(join(source, await readlink(join(source, '..data'))), { recursive: true })
  await writeFile(join(source, 'flat'), 'new')
  const mirror = await start()
  expect([readFileSync(join(target, 'key'), 'utf8'), readFileSync(join(target, 'flat'), 'utf8')]).toEqual([
    '1',
    'new',
  ])
  expect(mirror.lacking).toMatchObject({ path: '..data' })
})

test('of several sources the others are mirrored, also over what an earlier mirror has left', async () => {
  const { target } = fixture()
  const base = directory()
  const sources = ['a', 'b', 'c'].map((name) => join(base, name))
  const [a = '', b = '', c = ''] = sources
  for (const path of sources) mkdirSync(path)
  await atomicWrite(a, { of_a: '1' })
  await atomicWrite(b, { of_b: '1' })
  await writeFile(join(c, 'of_c'), '1')
  const start = () => begin(sources, target, { quiet: 1 })
  await (await start()).close({ keep: true })
  await rm(join(a, await readlink(join(a, '..data'))), { recursive: true })
  await atomicWrite(b, { of_b: '2' })
  await writeFile(join(c, 'of_c'), '2')
  const mirrored = await start()
  const read = () => ['of_a', 'of_b', 'of_c'].map((name) => readFileSync(join(target, name), 'utf8'))
  expect(read()).toEqual(['1', '2', '2'])
  expect(mirrored.lacking).toMatchObject({ path: join(a, '..data') })
  await unlink(join(a, '..data'))
  await atomicWrite(a, { of_a: '3' })
  await mirrored.refresh()
  expect([read(), mirrored.lacking]).toEqual([['3', '2', '2'], undefined])
})

test("a flat source's ..data beside a ConfigMap's is EEXIST, and named; its other entries are there", async () => {
  const { target } = fixture()
  const base = directory()
  const [map, flat] = [join(base, 'map'), join(base, 'flat')]
  for (const path of [map, flat]) mkdirSync(path)
  await atomicWrite(map, { key: '1' })
  await writeFile(join(flat, 'file'), '1')
  for (const sources of [
    [map, flat],
    [flat, map],
  ]) {
    const mirrored = await mirror(sources, target, { interval: 60_000, quiet: 1 })
    const { errors } = said(mirrored)
    await mkdir(join(flat, '..data'))
    await writeFile(join(flat, '..data/key'), 'not of the ConfigMap')
    for (let n = 0; n < 3; n++) await mirrored.refresh()
    expect(errors).toMatchObject([{ code: 'EEXIST', path: join(flat, '..data') }])
    expect(errors[0]?.message).toContain(map)
    expect(lstatSync(join(target, '..data')).isSymbolicLink()).toBe(true)
    expect(['key', 'file'].map((name) => readFileSync(join(target, name), 'utf8'))).toEqual(['1', '1'])
    await mirrored.close()
    await expect(mirror(sources, target)).rejects.toMatchObject({
      code: 'EEXIST',
      path: join(flat, '..data'),
    })
    await rm(join(flat, '..data'), { recursive: true })
  }
})

test("a flat source's directory of a generation's name is shown as well", async () => {
  const { target } = fixture()
  const base = directory()
  const [map, flat] = [join(base, 'map'), join(base, 'flat')]
  for (const path of [map, flat]) mkdirSync(path)
  await atomicWrite(map, { key: '1' })
  const name = await readlink(join(map, '..data'))
  await mkdir(join(flat, name))
  await writeFile(join(flat, name, 'own'), '1')
  await begin([map, flat], target, { quiet: 1 })
  expect(['key', `${name}/own`].map((path) => readFileSync(join(target, path), 'utf8'))).toEqual(['1', '1'])
})
