// Followed links whose ways need more watches than there are: links without a watch are polled, and no change
// is missing. In a user namespace, whose limit affects no other process.
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Change, WatchOptions } from '../../../../src/index.ts'
import { isLong } from '../../../support/long.ts'
import { scratch } from '../../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../../child.ts'
import { story } from '../../support.ts'
import { play } from './play.ts'
import { scenarios } from './scenarios.ts'

const NEVER = 1_000_000
const LINKS = 20
const WATCHES = 20

const limitedTo = (watches: number) => {
  const limit = `echo ${watches} > /proc/sys/user/max_inotify_watches && exec "$@"`
  return ['-Ur', 'sh', '-c', limit, 'sh']
}
const limited = limitedTo(WATCHES)
const mayLimitWatches = spawnSync('unshare', [...limited, 'true']).status === 0

const names = (prefix: string) => Array.from({ length: LINKS }, (_, i) => `${prefix}${i}`)

/** tree/f0 and so on lead to files, tree/d0 to directories with a file in each, all of them in directories of their own. */
async function watchingLinks(options: WatchOptions = {}, kinds: readonly string[] = ['f', 'd']) {
  const base = scratch()
  const at = (path: string) => join(base, path)
  mkdirSync(at('tree'))
  for (const name of kinds.flatMap(names)) {
    mkdirSync(at(`out/${name}/to`), { recursive: true })
    writeFileSync(at(`out/${name}/to/key`), '')
    symlinkSync(`../out/${name}/to${name.startsWith('f') ? '/key' : ''}`, at(`tree/${name}`))
  }
  const under = ['unshare', ...limited]
  const options_ = { recursive: true, followSymlinks: true, interval: NEVER, under, ...options }
  const child = await WatchingChild.start(at('tree'), options_)
  const uncovered = async () => {
    const rows = (await child.coverage()).flatMap((each) => each.uncovered)
    return rows.map(
      ({ path, error }) => `${relative(at('tree'), path)} ${(error as NodeJS.ErrnoException).code}`,
    )
  }
  return { base, at, child, uncovered, told: async () => story(await child.told(), at('tree')).toSorted() }
}

const sourcesOf = (changes: readonly Change[]) => new Set(changes.map(({ source }) => source))

describe.skipIf(!mayLimitWatches || !isBuilt)('out of watches (needs unshare -Ur and dist)', () => {
  test('what the links lead to is told all the same: written, replaced, gone, and there again', async () => {
    const { at, told } = await watchingLinks()
    await told()
    const all = [...names('d'), ...names('f')]
    for (const name of all) appendFileSync(at(`out/${name}/to/key`), 'x')
    const written = [
      ...names('d').map((name) => `modify file ${name}/key`),
      ...names('f').map((name) => `modify symlink ${name}`),
    ].toSorted()
    expect(await told()).toEqual(written)
    for (const name of all) {
      writeFileSync(at('new'), 'new')
      renameSync(at('new'), at(`out/${name}/to/key`))
    }
    expect(await told()).toEqual(written)
    for (const name of all) renameSync(at(`out/${name}/to`), at(`out/${name}/away`))
    expect(await told()).toEqual(
      [
        ...names('d').flatMap((name) => [`delete directory ${name}`, `create symlink ${name}`]),
        ...names('f').map((name) => `modify symlink ${name}`),
      ].toSorted(),
    )
    for (const name of all) renameSync(at(`out/${name}/away`), at(`out/${name}/to`))
    expect(await told()).toEqual(
      [
        ...names('d').flatMap((name) => [
          `delete symlink ${name}`,
          `create directory ${name}`,
          `create file ${name}/key`,
        ]),
        ...names('f').map((name) => `modify symlink ${name}`),
      ].toSorted(),
    )
  })

  describe.each(isLong ? [3, 6] : [3])('%d watches', (watches) => {
    // One process watches for all tests. Its watches are free again when it turns to the next test.
    let child: WatchingChild | undefined
    let end: (() => Promise<void>) | undefined
    afterAll(() => end?.())
    const atEnd = (ending: () => Promise<void>) => {
      end = ending
    }
    test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
      const under = ['unshare', ...limitedTo(watches)]
      const options = { recursive: true, followSymlinks: true, interval: NEVER }
      await play(scenario, async (root) => {
        if (child === undefined) child = await WatchingChild.start(root, { ...options, under, atEnd })
        else await child.turnTo(root, options)
        const watching = child
        return () => watching.told()
      })
    })
  })

  test('nobody has to ask for it', async () => {
    const { at, child } = await watchingLinks({ interval: 20 }, ['f'])
    for (const name of names('f')) appendFileSync(at(`out/${name}/to/key`), 'x')
    const told = () => new Set(child.changes.map(({ path }) => path))
    await expect.poll(told).toEqual(new Set(names('f').map((name) => at(`tree/${name}`))))
    expect(sourcesOf(child.changes)).toContain('poll')
  })

  test.each([
    ['files', ['f']],
    ['directories', ['d']],
    ['both', ['f', 'd']],
  ])('one shortage is told once, however many links it concerns: to %s', async (_, kinds) => {
    const { at, child, told } = await watchingLinks({}, kinds)
    for (let i = 0; i < 5; i++) {
      symlinkSync('../out/f0/to/key', at(`tree/later${i}`))
      for (const kind of kinds) appendFileSync(at(`out/${kind}${i}/to/key`), 'x')
      await told()
    }
    expect(child.errors.map(({ code }) => code)).toEqual(['ENOSPC'])
  })

  test('they go back to events as soon as there are watches', async () => {
    const { at, child, told, uncovered } = await watchingLinks({}, ['f'])
    await told()
    expect(await uncovered()).toContainEqual(expect.stringMatching(/^f\d+ ENOSPC$/))
    for (const name of readdirSync(at('tree')))
      if (name !== 'f0' && name !== 'f1') unlinkSync(at(`tree/${name}`))
    // The watches are free when the links are known to be gone, and taken by the poll after that.
    for (let i = 0; i < 3; i++) await told()
    for (const name of ['f0', 'f1']) appendFileSync(at(`out/${name}/to/key`), 'x')
    expect(sourcesOf(await child.told())).toEqual(new Set(['inotify']))
    for (const name of ['f0', 'f1']) rmSync(at(`out/${name}/to`), { recursive: true })
    expect(sourcesOf(await child.told())).toEqual(new Set(['inotify']))
    expect(await uncovered()).toEqual([])
    // A new shortage is told anew.
    for (const name of names('f')) if (name > 'f1') symlinkSync(`../out/${name}/to/key`, at(`tree/${name}`))
    await told()
    expect(child.errors.map(({ code }) => code)).toEqual(['ENOSPC', 'ENOSPC'])
  })

  test("with 'inotify' alone they are not polled, and that is said", async () => {
    const { at, child, uncovered } = await watchingLinks({ backend: 'inotify' }, ['f'])
    for (const name of names('f')) appendFileSync(at(`out/${name}/to/key`), 'x')
    const changes = await child.told()
    expect(sourcesOf(changes)).toEqual(new Set(['inotify']))
    const told = new Set(changes.map(({ path }) => relative(at('tree'), path)))
    const others = names('f').filter((name) => !told.has(name))
    expect(others).not.toEqual([])
    expect(await uncovered()).toEqual(expect.arrayContaining(others.map((name) => `${name} ENOSPC`)))
    expect(child.errors.map(({ code }) => code)).toEqual(['ENOSPC'])
  })
})
