// With ignore rules a tree is listed level by level. An entry that has moved is a rename all the same, for
// each source.
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'
import { losing, untilPast } from './losing.ts'

const NEVER = 1_000_000

describe.each([
  ['by events', 'inotify'],
  ['by polling', 'poll'],
  ['by the rescan after an overflow', 'inotify'],
] as const)('%s', (source, backend) => {
  test.each([
    ['a directory that moves to another', 'a/d', 'b/e', 'directory', 'a/d/in/f', 'b/e/in/f'],
    ['a directory that is renamed', 'a/d', 'a/e', 'directory', 'a/d/in/f', 'a/e/in/f'],
    ['a file that moves to another directory', 'a/f', 'b/g', 'file', 'a/f', 'b/g'],
  ])('%s is renamed, and what is in it goes with it', async (_, from, to, kind, before, after) => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    mkdirSync(at('a/d/in'), { recursive: true })
    mkdirSync(at('b/ignored'), { recursive: true })
    for (const path of ['a/f', 'a/d/in/f', 'a/d/ignored', 'b/ignored/f']) writeFileSync(at(path), '')
    await untilPast(at(before))
    const { system, lose } = losing()
    const options = { backend, recursive: true, interval: NEVER, ignore: [/(^|\/)ignored$/] }
    const { told } = await watching(root, options, system)
    await told()
    if (source.includes('overflow')) lose()
    renameSync(at(from), at(to))
    writeFileSync(at('b/ignored/g'), '')
    const lines = (await told()).map((change) => inWords(change, root))
    const isOfEntries = (line: string) => !/^(overflow|recovered)/.test(line)
    // With inotify alone no times are kept: a renamed file may have been written.
    const isModify = (line: string) =>
      line.startsWith('modify') && kind === 'file' && source.includes('overflow')
    expect(lines.filter((line) => isOfEntries(line) && !isModify(line))).toEqual([
      `rename ${kind} ${from} ${to}`,
    ])
    appendFileSync(at(after), 'more')
    const written = await told()
    expect(written.map(({ type, path }) => `${type} ${path}`)).toEqual([`modify ${at(after)}`])
  })
})
