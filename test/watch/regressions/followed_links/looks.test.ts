// Followed links: the result of a look at where a link leads, and the listings and events beside the look.
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../../support/scratch.ts'
import { inWords, story, watching } from '../../support.ts'
import { untilPast } from '../losing.ts'
import { followingAs, followSymlinks } from '../observed.ts'
import { stepping } from '../stepping.ts'

const NEVER = 1_000_000

describe.each(['inotify', 'poll'] as const)(
  '%s: what a link was seen to lead to, and what is listed',
  (backend) => {
    /** Returns the number of looks at where the link l leads, in five calls of sync() without a change. */
    async function looksOf(target: string, followAs = followSymlinks) {
      const base = scratch()
      const at = (path: string) => join(base, path)
      mkdirSync(at('tree'))
      writeFileSync(at('key'), '')
      symlinkSync('../key', at('tree/key'))
      symlinkSync(target, at('tree/l'))
      let looks = 0
      const follow: typeof followSymlinks = (path) => {
        if (path !== at('tree/l')) return followSymlinks(path)
        looks++
        return followAs(path)
      }
      const options = { backend, followSymlinks: true, interval: NEVER }
      const { told } = await watching(at('tree'), options, followingAs(follow))
      await told()
      const before = looks
      for (let i = 1; i <= 5; i++) expect(await told()).toEqual([])
      const after = looks
      // The link does not keep the watcher from following others.
      appendFileSync(at('key'), 'x')
      expect(story(await told(), base)).toEqual(['modify symlink tree/key'])
      return after - before
    }

    test('may differ each time: it is listed once, or once a poll', async () => {
      const nowhere = async () => ({ realPath: '/no/such', linkDirectories: [], links: [], left: [] })
      expect(await looksOf(scratch(), nowhere)).toBe(backend === 'poll' ? 10 : 0)
    })

    test('differ where it leads to above what is watched, even to /, which has no name: likewise', async () => {
      expect(await looksOf('/')).toBe(backend === 'poll' ? 10 : 0)
    })
  },
)

test.each(['inotify', 'poll'] as const)(
  '%s: a file is written when a link to it has been told, and nobody has looked where it leads',
  async (backend) => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree'))
    for (const name of ['key', 'other']) writeFileSync(at(name), '')
    await untilPast(at('other'))
    let isWritten = false
    const follow: typeof followSymlinks = async (path) => {
      if (path === at('tree/l') && !isWritten) {
        isWritten = true
        appendFileSync(at('key'), 'x')
      }
      return await followSymlinks(path)
    }
    const options = { backend, recursive: true, followSymlinks: true, interval: NEVER }
    const { told } = await watching(at('tree'), options, followingAs(follow))
    symlinkSync('../other', at('tree/m'))
    symlinkSync('../key', at('tree/l'))
    const lines = (await told()).map((change) => inWords(change, at('tree')))
    expect(isWritten).toBe(true)
    expect(lines.toSorted()).toEqual(['create symlink l', 'create symlink m', 'modify symlink l'])
  },
)

test.each(['inotify', 'poll'] as const)(
  '%s: links that lead round over a directory are told once: what is found by several ways has one place',
  async (backend) => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    mkdirSync(at('b/d'), { recursive: true })
    for (const path of ['b/g', 'b/d/h']) writeFileSync(at(path), '')
    const options = { backend, recursive: true, followSymlinks: true, interval: NEVER }
    const { told } = await watching(root, options)
    symlinkSync(at('b'), at('b/d/n'))
    symlinkSync(at('b/d'), at('d'))
    const lines = [await told(), await told()].flat().map((change) => inWords(change, root))
    const inD = [
      'directory d/n',
      'directory d/n/d',
      'file d/h',
      'file d/n/d/h',
      'file d/n/g',
      'symlink d/n/d/n',
    ]
    const expected = ['directory d', 'symlink b/d/n', ...inD].map((each) => `create ${each}`)
    expect(
      lines.filter((line) => !line.startsWith('attrib') && line !== 'modify directory b/d').toSorted(),
    ).toEqual(expected.toSorted())
  },
)

test('a link that leads to another mount by the time that it is gone into leads there', async () => {
  const [base, mount] = [scratch(), scratch('/dev/shm')]
  const at = (path: string) => join(base, path)
  for (const directory of ['tree', 'one', 'two']) mkdirSync(at(directory))
  writeFileSync(join(mount, 'there'), '')
  symlinkSync('one', at('current'))
  symlinkSync('../current', at('tree/l'))
  const steps = stepping()
  const { told } = await watching(at('tree'), { recursive: true, followSymlinks: true }, steps.system)
  const lead = (target: string) => {
    symlinkSync(target, at('new'))
    renameSync(at('new'), at('current'))
  }
  let times = 0
  steps.between = (path) => {
    // The first step has seen where it leads, the second is to go into that.
    if (path === at('tree/l') && ++times === 2) lead(mount)
  }
  lead('two')
  const lines = story(await told(), at('tree'))
  expect(lines).toEqual(['delete directory l', 'create directory l', 'create file l/there'])
})
