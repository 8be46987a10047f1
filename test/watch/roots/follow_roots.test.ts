// A root that is a symlink, where it is not to be followed: it is that link.

import {
  lutimesSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'

const NEVER = 1_000_000

/** 'lost symlink deleted', 'modify symlink', in the order in which it was told of a path. */
function about(path: string, changes: readonly Change[]): string[] {
  return changes.flatMap((change) => {
    if (change.path !== path || !('kind' in change)) return []
    return [`${change.type} ${change.kind}${change.type === 'lost' ? ` ${change.reason}` : ''}`]
  })
}

/** Puts another link in the place of one, as `ln -sfn` and deployments do. */
function retarget(path: string, to: string): void {
  symlinkSync(to, `${path}.new`)
  renameSync(`${path}.new`, path)
}

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  const options = { backend, interval: NEVER, followRoots: false } as const

  test.each([
    ['a directory', 'directory'],
    ['a file', 'file'],
    ['nowhere', 'nowhere'],
    ['itself', 'link'],
  ])('a link to %s is told as the link that it is', async (_, to) => {
    const base = scratch()
    mkdirSync(join(base, 'directory'))
    writeFileSync(join(base, 'file'), '')
    const link = join(base, 'link')
    symlinkSync(to, link)
    const { watcher, told } = await watching(link, { ...options, initial: true, recursive: true })
    expect(about(link, await told())).toEqual(['create symlink'])
    expect([...watcher.entries()]).toEqual([{ path: link, kind: 'symlink' }])
    expect(watcher.has(link)).toBe(true)
    expect(watcher.coverage()).toEqual([expect.objectContaining({ path: link, backend, uncovered: [] })])

    writeFileSync(join(base, 'directory/inside'), '')
    writeFileSync(join(base, 'file'), 'written')
    expect(await told()).toEqual([])

    retarget(link, 'elsewhere')
    const modified = await told()
    expect(new Set(about(link, modified))).toEqual(new Set(['modify symlink']))
    expect(modified.every(({ path }) => path === link)).toBe(true)

    unlinkSync(link)
    expect(about(link, await told())).toEqual(['lost symlink deleted'])
    expect(watcher.has(link)).toBe(false)
    symlinkSync('back', link)
    await watcher.sync()
    expect(about(link, await told())).toEqual(['restored symlink', 'modify symlink'])
    expect(watcher.has(link)).toBe(true)
  })

  test('symlinks on the way to it are followed', async () => {
    const base = scratch()
    for (const name of ['one', 'two']) {
      mkdirSync(join(base, name))
      symlinkSync(`to-${name}`, join(base, name, 'link'))
    }
    symlinkSync('one', join(base, 'way'))
    const link = join(base, 'way/link')
    const { told } = await watching(link, options)
    retarget(join(base, 'way'), 'two')
    expect(new Set(about(link, await told()))).toEqual(new Set(['modify symlink']))
    retarget(join(base, 'two/link'), 'elsewhere')
    expect(new Set(about(link, await told()))).toEqual(new Set(['modify symlink']))
  })

  test('what is no link is watched as ever, and a link in its place is not', async () => {
    const base = scratch()
    const root = join(base, 'root')
    mkdirSync(root)
    mkdirSync(join(base, 'other'))
    writeFileSync(join(base, 'other/file'), '')
    const { told } = await watching(root, { ...options, recursive: true })
    mkdirSync(join(root, 'in'))
    writeFileSync(join(root, 'in/file'), '')
    expect((await told()).map(({ type, path }) => `${type} ${path.slice(root.length)}`)).toEqual(
      expect.arrayContaining(['create /in', 'create /in/file']),
    )
    renameSync(root, `${root}-away`)
    symlinkSync('other', root)
    const changes = [...(await told()), ...(await told())]
    expect(about(root, changes)).toEqual([expect.stringMatching(/^lost directory/)])
    expect(changes.filter(({ path }) => path !== root)).toEqual([])
  })

  test('one that is not there yet may come as a link', async () => {
    const base = scratch()
    const link = join(base, 'link')
    const { told } = await watching(link, options)
    symlinkSync('.', link)
    const changes = [...(await told()), ...(await told())]
    expect(about(link, changes)).toEqual(['restored symlink', 'create symlink'])
    expect(changes.filter(({ path }) => path !== link)).toEqual([])
  })

  test('links and files that are given together', async () => {
    const base = scratch()
    const links = ['a', 'b'].map((name) => join(base, name))
    for (const link of links) symlinkSync('c', link)
    const file = join(base, 'c')
    writeFileSync(file, '')
    const { watcher, told } = await watching([...links, file], { ...options, initial: true })
    expect((await told()).map(({ path }) => path)).toEqual([...links, file])
    expect([...watcher.entries()]).toEqual([
      ...links.map((path) => ({ path, kind: 'symlink' })),
      { path: file, kind: 'file' },
    ])
    writeFileSync(file, 'written')
    expect(new Set((await told()).map(({ path }) => path))).toEqual(new Set([file]))
    for (const link of links) retarget(link, 'd')
    const changes = await told()
    for (const link of links) expect(new Set(about(link, changes))).toEqual(new Set(['modify symlink']))
  })

  test('below a recursive root it is an entry of that one, and told once', async () => {
    const outer = scratch()
    const link = join(outer, 'in/link')
    mkdirSync(join(outer, 'in/target'), { recursive: true })
    symlinkSync('target', link)
    const { watcher, told } = await watching([outer, link], { ...options, recursive: true, initial: true })
    expect(about(link, await told())).toEqual(['create symlink'])
    expect([...watcher.entries()].filter(({ path }) => path === link)).toEqual([
      { path: link, kind: 'symlink' },
    ])
    unlinkSync(link)
    const gone = about(link, await told())
    expect(gone.toSorted()).toEqual(['delete symlink', 'lost symlink deleted'])
    symlinkSync('elsewhere', link)
    await watcher.sync()
    expect(about(link, await told()).toSorted()).toEqual(['create symlink', 'restored symlink'])
    writeFileSync(join(outer, 'in/target/file'), '')
    expect((await told()).every(({ path }) => path.startsWith(join(outer, 'in/target')))).toBe(true)
    expect(readlinkSync(link)).toBe('elsewhere')
  })

  test('another file in its place is told as what it is', async () => {
    const base = scratch()
    const root = join(base, 'root')
    writeFileSync(join(base, 'target'), '')
    symlinkSync('target', root)
    const { watcher, told } = await watching(root, options)
    writeFileSync(join(base, 'new'), '')
    renameSync(join(base, 'new'), root)
    expect(new Set(about(root, await told()))).toEqual(new Set(['modify file']))
    expect([...watcher.entries()]).toEqual([{ path: root, kind: 'file' }])
    rmSync(root)
    symlinkSync('target', root)
    const changes = [...(await told()), ...(await told())]
    expect(about(root, changes).at(-1)).toBe('modify symlink')
    expect([...watcher.entries()]).toEqual([{ path: root, kind: 'symlink' }])
  })
})

test('an event of the link itself is told, and not one of what it leads to', async () => {
  const base = scratch()
  const link = join(base, 'link')
  writeFileSync(join(base, 'target'), '')
  symlinkSync('target', link)
  const { told } = await watching(link, { backend: 'inotify', followRoots: false })
  lutimesSync(link, 1, 1)
  expect(about(link, await told())).toHaveLength(1)
  writeFileSync(join(base, 'target'), 'written')
  expect(await told()).toEqual([])
})

test.each([
  [true, 'poll'],
  [false, 'inotify'],
])('its source is that of the mount on which it lies: followed, %s', async (followRoots, backend) => {
  const link = join(scratch(), 'link')
  symlinkSync('/proc/version', link)
  const { watcher } = await watching(link, { followRoots })
  expect(watcher.coverage()).toEqual([expect.objectContaining({ path: link, backend })])
})

test('a root that is a symlink is followed unless it is asked for', async () => {
  const base = scratch()
  const link = join(base, 'link')
  mkdirSync(join(base, 'target'))
  symlinkSync('target', link)
  const { watcher, told } = await watching(link)
  writeFileSync(join(base, 'target/file'), '')
  expect((await told()).map(({ path }) => path)).toContain(join(link, 'file'))
  expect([...watcher.entries()][0]).toEqual({ path: link, kind: 'directory' })
})
