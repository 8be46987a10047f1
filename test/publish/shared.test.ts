// Entries that other users have laid or renamed in a directory that is published to.
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { publishDirectory, replaceFile } from '../../src/index.ts'
import { giveAway, isRoot, NOBODY } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'

/** A directory of some mode, and what is in it. */
function shared(mode: number, lay: (path: (name: string) => string) => void = () => {}) {
  const directory = scratch()
  chmodSync(directory, mode)
  const path = (name: string) => join(directory, name)
  lay(path)
  return { directory, path }
}

describe.skipIf(!isRoot)('of other users (needs root)', () => {
  test("a /tmp of root's with the name of a version is not removed", async () => {
    const { directory, path } = shared(0o777, (path) => {
      mkdirSync(path('tmp'))
      chmodSync(path('tmp'), 0o1777)
      writeFileSync(path('tmp/file'), 'precious')
    })
    const moved = path('..2026_01_01_00_00_00.123456789')
    renameSync(path('tmp'), moved)
    await publishDirectory(directory, { a: '1' })
    expect(readFileSync(join(moved, 'file'), 'utf8')).toBe('precious')
  })

  test("nothing is removed of a private directory of root's with the name of a leftover", async () => {
    const left = '.inotify-bridge.tmp-aaaaaaaaaaaa'
    const { path } = shared(0o777, (path) => {
      mkdirSync(path(left), 0o700)
      writeFileSync(path(`${left}/precious`), 'precious')
      symlinkSync('nowhere', path(`${left}.link`))
    })
    await replaceFile(path('file'), '')
    expect(readdirSync(path(left))).toEqual(['precious'])
  })

  test.each(['1775', '1770', '1777'])(
    'in a sticky directory of mode %s neither their file is replaced nor their link followed',
    async (mode) => {
      const { directory, path } = shared(Number.parseInt(mode, 8), (path) => {
        writeFileSync(path('key'), 'theirs', { mode: 0o600 })
        writeFileSync(path('victim'), 'victim')
        symlinkSync('victim', path('link'))
        for (const name of ['key', 'link']) giveAway(path(name))
      })
      chownSync(directory, 0, NOBODY)
      for (const name of ['key', 'link'])
        await expect(replaceFile(path(name), 'secret')).rejects.toMatchObject({ code: 'EACCES' })
      expect(readFileSync(path('key'), 'utf8')).toBe('theirs')
      expect(readFileSync(path('victim'), 'utf8')).toBe('victim')
      expect(statSync(path('key')).uid).toBe(NOBODY)
    },
  )

  test('in a directory where others may rename, their link is not followed, and one of root is', async () => {
    const elsewhere = scratch()
    const { directory, path } = shared(0o777, (path) => {
      for (const name of ['mine', 'theirs']) symlinkSync(join(elsewhere, name), path(name))
      giveAway(path('theirs'))
    })
    for (const follow of [() => replaceFile(path('theirs'), ''), () => publishDirectory(path('theirs'), {})])
      await expect(follow()).rejects.toMatchObject({ code: 'EACCES', path: path('theirs') })
    chmodSync(directory, 0o755)
    giveAway(directory)
    await expect(replaceFile(path('theirs'), '')).rejects.toMatchObject({ code: 'EACCES' })
    await replaceFile(path('mine'), '')
    expect(readdirSync(elsewhere)).toEqual(['mine'])
  })

  test('a directory of another user in a sticky directory is not built upon', async () => {
    const { path } = shared(0o1777, (path) => {
      mkdirSync(path('theirs'))
      giveAway(path('theirs'))
    })
    const refused = publishDirectory(path('theirs/'), { a: '1' })
    await expect(refused).rejects.toMatchObject({ code: 'EACCES', path: path('theirs/') })
    expect(readdirSync(path('theirs'))).toEqual([])
  })
})
