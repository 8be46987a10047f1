import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nearLinks } from '../../src/mounts/near_links.ts'
import { followTogether, followUpToCircle, type ReadLink } from '../../src/mounts/syscalls/symlinks.ts'
import { keysOf, pathOf } from '../../src/name_key.ts'
import { scratch } from '../support/scratch.ts'

const far: ReadLink = async (entry) => {
  try {
    return keysOf(await readlink(pathOf(entry), 'buffer'))
  } catch {
    return undefined
  }
}

/** A directory in which links lead to all sorts of ends. */
function world() {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const path of ['real/d', 'links', 'links/a']) mkdirSync(at(path), { recursive: true })
  writeFileSync(at('real/f'), '')
  const links: Array<[target: string, name: string]> = [
    ['../real/f', 'file'],
    ['../real', 'directory'],
    ['../real/d/../f', 'left'],
    ['file', 'chain'],
    ['a/../chain', 'chain-left'],
    ['no/such', 'nowhere'],
    ['round', 'round'],
    ['there', 'here'],
    ['here', 'there'],
    [at('real/f'), 'absolute'],
    ['/', 'root'],
    ['a', 'a-too'],
    ['../links/a-too/../file', 'a/up'],
  ]
  for (const [target, name] of links) symlinkSync(target, at(`links/${name}`))
  const bytes = Buffer.concat([Buffer.from(`${at('links')}/`), Buffer.from([0x66, 0xff])])
  symlinkSync(Buffer.concat([Buffer.from('../real/'), Buffer.from([0xfe])]), bytes)
  const names = [...links.map(([, name]) => name), 'none', 'directory/f', 'directory/d', 'a-too/up']
  return [...names.map((name) => at(`links/${name}`)), keysOf(bytes)]
}

test('what is read in this thread is what readlink(2) says', async () => {
  const near = nearLinks(() => {
    throw new Error('it lies near')
  })
  for (const path of world()) {
    expect(await near(path, path), path).toBe(await far(path, path))
    // On the way of another.
    expect(await near(path, `${path}/x`), path).toBe(await far(path, path))
  }
})

test('what lies on a mount that others change is left to who waits for it elsewhere, as is where one is mounted', async () => {
  const asked: string[] = []
  const near = nearLinks((entry) => {
    asked.push(entry)
    return undefined
  })
  for (const path of ['/proc/self', '/proc', '/']) await near(path, path)
  expect(asked).toEqual(['/proc/self', '/proc'])
})

test('many paths that are followed together lead where each of them does by itself', async () => {
  const there = world()
  const paths = [...there, `${there[7]}/f`, '/']
  const together = await followTogether(paths, far)
  for (const [i, path] of paths.entries())
    expect(together[i], path).toEqual(await followUpToCircle(path, far))
})
