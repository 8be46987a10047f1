// Followed links whose name, or a name on whose way, is not UTF-8: as text, the name could be any of several,
// so no question to the system may use the text.
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../../support/scratch.ts'
import { watching } from '../../support.ts'
import { followingAs, followSymlinks } from '../observed.ts'

const NEVER = 1_000_000

/** Returns bytes from a path with a character for each byte. */
const bytes = (path: string) => Buffer.from(path, 'latin1')

/** Watches tree/, and returns the changes in a few words and the number of looks at where links lead. */
async function following(base: string, backend: 'inotify' | 'poll') {
  let looks = 0
  const follow: typeof followSymlinks = (path) => {
    if (path.startsWith(join(base, 'tree/'))) looks++
    return followSymlinks(path)
  }
  const options = { backend, recursive: true, followSymlinks: true, interval: NEVER } as const
  const { watcher } = await watching(
    join(base, 'tree'),
    { ...options, encoding: 'buffer' },
    followingAs(follow),
  )
  let lines: string[] = []
  watcher.on('changes', (changes) => {
    for (const change of changes) {
      const path = Buffer.from(change.path)
        .toString('latin1')
        .slice(base.length + 1)
      lines.push([change.type, 'mask' in change ? change.kind : '', path].join(' '))
    }
  })
  return {
    /** Returns each change once, because a write makes several events. */
    told: async () => {
      await watcher.sync()
      const told = [...new Set(lines)]
      lines = []
      return told.toSorted()
    },
    looks: () => looks,
  }
}

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  describe.each([
    ['a link whose name is no UTF-8', 'l\xff', 'dir'],
    ['a link to what has a name that is no UTF-8', 'l', 'dir\xff'],
    ['both', 'l\xff', 'dir\xff'],
    ['as text the same as another', 'l\xfe', 'dir\xfe'],
  ])('%s', (_, link, target) => {
    function planted() {
      const base = scratch()
      const at = (path: string) => bytes(join(base, path))
      mkdirSync(at('tree'))
      mkdirSync(at(`out/${target}`), { recursive: true })
      writeFileSync(at(`out/${target}/f`), '')
      // A directory and a link with the same text, which are not meant.
      mkdirSync(at('out/dir\xfd'))
      symlinkSync(bytes('../out/dir\xfd'), at('tree/l\xfd'))
      return { base, at }
    }

    test('to a directory: what happens in it, and that it goes and comes', async () => {
      const { base, at } = planted()
      symlinkSync(bytes(`../out/${target}`), at(`tree/${link}`))
      const { told } = await following(base, backend)
      await told()
      appendFileSync(at(`out/${target}/f`), 'x')
      expect(await told()).toEqual([`modify file tree/${link}/f`])
      renameSync(at(`out/${target}`), at('out/away'))
      expect(await told()).toEqual([`create symlink tree/${link}`, `delete directory tree/${link}`])
      mkdirSync(at(`out/${target}`))
      writeFileSync(at(`out/${target}/again`), '')
      const back = await told()
      expect(back).toContain(`create directory tree/${link}`)
      expect(back).toContain(`create file tree/${link}/again`)
      appendFileSync(at(`out/${target}/again`), 'x')
      expect(await told()).toEqual([`modify file tree/${link}/again`])
    })

    test('to a file: that it is written, replaced, goes and comes', async () => {
      const { base, at } = planted()
      symlinkSync(bytes(`../out/${target}/f`), at(`tree/${link}`))
      const { told } = await following(base, backend)
      await told()
      const steps: Array<() => void> = [
        () => appendFileSync(at(`out/${target}/f`), 'x'),
        () => {
          writeFileSync(at('out/new'), 'new')
          renameSync(at('out/new'), at(`out/${target}/f`))
        },
        () => renameSync(at(`out/${target}`), at('out/away')),
        () => renameSync(at('out/away'), at(`out/${target}`)),
        () => rmSync(at(`out/${target}/f`)),
      ]
      for (const step of steps) {
        step()
        expect(await told(), `${step}`).toEqual([`modify symlink tree/${link}`])
      }
    })

    test('by way of a link that is swapped, and comes while it is watched', async () => {
      const { base, at } = planted()
      mkdirSync(at('out/two'))
      writeFileSync(at('out/two/g'), '')
      symlinkSync(bytes(target), at(`out/by${link}`))
      const { told } = await following(base, backend)
      await told()
      symlinkSync(bytes(`../out/by${link}`), at(`tree/${link}`))
      expect(await told()).toEqual([`create directory tree/${link}`, `create file tree/${link}/f`])
      unlinkSync(at(`out/by${link}`))
      symlinkSync('two', at(`out/by${link}`))
      expect(await told()).toContain(`create file tree/${link}/g`)
      appendFileSync(at(`out/${target}/f`), 'x')
      appendFileSync(at('out/two/g'), 'x')
      expect(await told()).toEqual([`modify file tree/${link}/g`])
    })

    test('renamed from a name that is UTF-8', async () => {
      const { base, at } = planted()
      mkdirSync(at('out/plain'))
      writeFileSync(at('out/plain/g'), '')
      symlinkSync(bytes('../out/plain'), at('tree/plain'))
      const { told, looks } = await following(base, backend)
      await told()
      renameSync(at('tree/plain'), at(`tree/${link}`))
      const renamed = [`rename directory tree/${link}`]
      const anew = [
        `create directory tree/${link}`,
        `create file tree/${link}/g`,
        'delete directory tree/plain',
      ]
      expect(await told()).toEqual(backend === 'poll' ? anew : renamed)
      const before = looks()
      for (let i = 1; i <= 5; i++) await told()
      expect(looks() - before).toBe(backend === 'poll' ? 10 : 0)
      appendFileSync(at('out/plain/g'), 'x')
      expect(await told()).toEqual([`modify file tree/${link}/g`])
      renameSync(at('out/plain'), at('out/away'))
      expect(await told()).toContain(`delete directory tree/${link}`)
    })

    test('nobody looks where it leads while nothing happens', async () => {
      const { base, at } = planted()
      symlinkSync(bytes(`../out/${target}`), at(`tree/${link}`))
      symlinkSync(bytes(`../out/${target}/f`), at(`tree/file${link}`))
      symlinkSync(bytes('nowhere\xff'), at(`tree/nowhere${link}`))
      const { told, looks } = await following(base, backend)
      await told()
      const before = looks()
      const LINKS = 4
      for (let i = 1; i <= 5; i++) {
        await told()
        expect(looks() - before).toBe(backend === 'poll' ? i * LINKS : 0)
      }
    })
  })
})
