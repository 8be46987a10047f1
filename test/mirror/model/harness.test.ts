// The model test's own machinery, with targets that are right and targets that are not.
import {
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { compile } from '../../support/compile.ts'
import { scratch } from '../../support/scratch.ts'
import { contentOf } from './content.mjs'
import { conflictsOf, offerOf, viewOf } from './expected.mjs'
import { differences, possibilities } from './judge.mjs'
import { readNode } from './look.mjs'
import { Choice } from './random.mjs'
import { Reader } from './reader.mjs'
import { Watching } from './watching.mjs'

const NO_LIMITS = { files: Infinity, bytes: Infinity }
const content = (tag: string, version = 1, source = 0) => contentOf({ tag, source, version, size: 3000 })

/** A ConfigMap with a flat file and a link beside it. */
function configMap(path: string, source = 0): void {
  mkdirSync(join(path, '..1/d'), { recursive: true })
  for (const key of ['a', 'd/b']) writeFileSync(join(path, '..1', key), content(key, 1, source))
  symlinkSync('..1', join(path, '..data'))
  for (const name of ['a', 'd']) symlinkSync(`..data/${name}`, join(path, name))
  writeFileSync(join(path, 'flat'), content('flat', 1, source))
  symlinkSync('flat', join(path, 'link'))
}

function offered(path: string, limits = NO_LIMITS, overLimit?: 'link' | 'hold') {
  const node = readNode(path)
  const offer = node && offerOf(node, path, 'sole', limits, overLimit)
  if (offer === undefined) throw new Error('no source')
  return offer
}

test('what a source has, and what becomes of it beyond the limits', () => {
  const source = scratch()
  configMap(source)
  const names = ['a', 'd', 'd/b', 'flat', 'link']
  const offer = offered(source, { files: 3, bytes: 9004 })
  expect([offer.way, [...viewOf([offer]).keys()].sort()]).toEqual(['copied', names])
  for (const limits of [
    { files: 2, bytes: Infinity },
    { files: 3, bytes: 9003 },
  ]) {
    expect(offered(source, limits, 'hold').way).toBe('held')
    const linked = offered(source, limits)
    expect([linked.way, [...viewOf([linked]).keys()].sort()]).toEqual(['linked', names])
    symlinkSync('/etc/hostname', join(source, 'odd'))
    expect(offered(source, limits).way).toBe('held')
    unlinkSync(join(source, 'odd'))
  }
})

test('the text of a link counts as bytes, unless the layout of a ConfigMap has it', () => {
  const source = scratch()
  configMap(source)
  // 'flat', which 'link' leads to.
  expect(offered(source, { files: 3, bytes: 9004 }).way).toBe('copied')
  expect(offered(source, { files: 3, bytes: 9003 }).way).toBe('linked')
})

test('of a name that two sources have the first keeps it', () => {
  const [one, other] = [scratch(), scratch()]
  configMap(one, 0)
  configMap(other, 1)
  const offers = [one, other].map((path) => offered(path))
  expect(new Set(conflictsOf(offers))).toEqual(new Set(['a', 'd', 'flat', 'link']))
  expect(viewOf(offers.toReversed()).get('a')).toMatchObject({
    header: expect.stringContaining('|1|1|3000|'),
  })
})

test.each<[string, RegExp | undefined, (target: string) => void]>([
  ['is right', undefined, () => {}],
  ['lacks a file', /"flat" is absent/, (target) => unlinkSync(join(target, 'flat'))],
  [
    'has an old file',
    /"flat" is "flat" of source 0, version 9/,
    (t) => writeFileSync(join(t, 'flat'), content('flat', 9)),
  ],
  ['has a torn file', /"d\/b" is torn/, (target) => truncateSync(join(target, '..1/d/b'), 2000)],
  [
    'has one file too many',
    /"more" is .* should be absent/,
    (target) => writeFileSync(join(target, 'more'), ''),
  ],
  [
    'shows the source itself',
    /"flat" is .* by a link into a source; it should be .*\(644\)$/m,
    (target) => {
      renameSync(join(target, 'flat'), `${target}.flat`)
      symlinkSync(`${target}.flat`, join(target, 'flat'))
    },
  ],
  ['has lost its ..data', /a link to nothing/, (target) => unlinkSync(join(target, '..data'))],
  ['has two versions', /more than one version/, (target) => mkdirSync(join(target, '..2'))],
])('a target that %s is told', (_, wrong, spoil) => {
  const [source, target] = [scratch(), join(scratch(), 'target')]
  configMap(source)
  cpSync(source, target, { recursive: true, verbatimSymlinks: true })
  spoil(target)
  const found = differences(target, possibilities([[offered(source)]]), false).map(({ what }) => what)
  if (wrong === undefined) expect(found).toEqual([])
  else expect(found.join('\n')).toMatch(wrong)
})

/** Reports what a reader met while `spoil` changes a target: for `turns`, or until the report is as expected. */
async function read(
  spoil: (target: string, turn: number) => void,
  { turns = Infinity, expected = /./ },
): Promise<string> {
  const target = scratch()
  configMap(target)
  const reader = new Reader(compile('target_reader'))
  onTestFinished(() => reader.end())
  const watching = new Watching(reader)
  const possible = possibilities([[offered(target)]])
  let said = ''
  let turn = 0
  await vi.waitFor(
    async () => {
      await watching.begin(target, possible, () => true, new Choice(1))
      for (let n = 0; n < 20; n++) spoil(target, turn++)
      const { wrong, reads } = await watching.end()
      said = wrong.join('\n')
      if (reads === 0 || turn < turns) expect(said).toMatch(expected)
    },
    { timeout: 60_000, interval: 1 },
  )
  return said
}

const replace = (target: string, name: string, text: string) => {
  writeFileSync(join(target, '.next'), text)
  renameSync(join(target, '.next'), join(target, name))
}

test('a reader that meets nothing says nothing', async () => {
  expect(await read(() => {}, { turns: 200 })).toBe('')
})

test.each<[string, RegExp, (target: string, turn: number) => void]>([
  [
    'a file that is removed and written again',
    /"(?:flat|link)", \d+ reads: \d+ times ENOENT/,
    (target) => {
      rmSync(join(target, 'flat'))
      replace(target, 'flat', content('flat'))
    },
  ],
  [
    'half a file',
    /"(?:flat|link)", \d+ reads: \d+ times torn/,
    (target, turn) => replace(target, 'flat', content('flat').slice(0, turn % 2 ? 3000 : 2000)),
  ],
  [
    'a version that nobody wrote',
    /never was there: "flat" of source 0, version 2/,
    (target) => replace(target, 'flat', content('flat', 2)),
  ],
  [
    'keys of two versions',
    /a mix: .* source 0: versions/,
    (target) => replace(target, '..1/a', content('a', 2)),
  ],
])('a reader that meets %s says so', async (_, what, spoil) => {
  expect(await read(spoil, { expected: what })).toMatch(what)
})
