// Changes behind the symlinks of a tree, in comparison with node:fs: both watch the same operations.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { scratch } from '../support/scratch.ts'

type At = (name: string) => string
type Watch = (
  path: string,
  options: { recursive: true; encoding?: 'buffer' },
  listener: (type: string, name: unknown) => void,
) => { close(): void }

/** Makes `tree`, with links to entries beside it. */
function plant(): At {
  const root = scratch()
  const at: At = (name) => join(root, name)
  for (const name of ['real/dir/sub', 'tree/d/e']) fs.mkdirSync(at(name), { recursive: true })
  for (const name of ['real/file', 'real/other', 'tree/own']) fs.writeFileSync(at(name), 'text')
  for (const [link, to] of [
    ['link', '../real/file'],
    ['absolute', at('real/file')],
    ['chain', 'link'],
    ['linked', '../real/dir'],
    ['d/e/deep', '../../../real/file'],
    ['ä', '../real/other'],
    ['nowhere', '../real/none'],
  ] as const)
    fs.symlinkSync(to, at(`tree/${link}`))
  return at
}

async function told(watch: Watch, at: At, act: (at: At) => unknown): Promise<Set<string>> {
  const events = new Set<string>()
  const watcher = watch(at('tree'), { recursive: true }, (type, name) => events.add(`${type} ${name}`))
  onTestFinished(() => watcher.close())
  // The watcher follows links once all directories are watched.
  await expect
    .poll(() => {
      fs.appendFileSync(at('real/file'), '')
      fs.writeFileSync(at('real/file'), 'anew')
      fs.writeFileSync(at('real/other'), 'anew')
      return ['link', 'd/e/deep', 'ä'].every((name) => events.has(`rename ${name}`))
    })
    .toBe(true)
  await sleep(30)
  events.clear()
  await act(at)
  fs.writeFileSync(at('tree/end'), '')
  await expect.poll(() => events.has('rename end')).toBe(true)
  await sleep(30)
  return events
}

const FILE = ['rename absolute', 'rename chain', 'rename d/e/deep', 'rename link']

test.each<[string, (at: At) => unknown, string[]]>([
  ['a file is written', (at) => fs.appendFileSync(at('real/file'), 'x'), FILE],
  ['its mode', (at) => fs.chmodSync(at('real/file'), 0o600), FILE],
  [
    'replaced',
    (at) => [fs.writeFileSync(at('real/new'), ''), fs.renameSync(at('real/new'), at('real/file'))],
    FILE,
  ],
  ['another file', (at) => fs.appendFileSync(at('real/other'), 'x'), ['rename ä']],
  ['a file comes in a directory', (at) => fs.writeFileSync(at('real/dir/f'), ''), ['rename linked']],
  ['a directory is removed', (at) => fs.rmSync(at('real/dir'), { recursive: true }), ['rename linked']],
  ['a directory is renamed', (at) => fs.renameSync(at('real/dir'), at('real/away')), ['rename linked']],
  ['below a directory below nothing is told', (at) => fs.writeFileSync(at('real/dir/sub/f'), ''), []],
  ['what no link leads to', (at) => fs.writeFileSync(at('real/none of it'), ''), []],
])('%s', async (_, act, expected) => {
  for (const watch of [bridge.watch as unknown as Watch, fs.watch as unknown as Watch]) {
    const events = await told(watch, plant(), act)
    // Node tells a link that leads nowhere with each change of the tree.
    const ofLinks = [...events].filter((each) => !/ (end|nowhere)$/.test(each)).sort()
    expect(ofLinks).toEqual(expected)
  }
})

test.each<[string, (at: At) => unknown, (at: At) => unknown, string[]]>([
  [
    'a file that was replaced',
    (at) => [fs.writeFileSync(at('real/new'), ''), fs.renameSync(at('real/new'), at('real/file'))],
    (at) => fs.appendFileSync(at('real/file'), 'x'),
    FILE,
  ],
  [
    'a link that is new',
    (at) => fs.symlinkSync('../real/other', at('tree/new')),
    (at) => fs.appendFileSync(at('real/other'), 'x'),
    ['rename new', 'rename ä'],
  ],
  [
    'a link in a directory that is new',
    (at) => [
      fs.mkdirSync(at('tree/n/m'), { recursive: true }),
      fs.symlinkSync(at('real/other'), at('tree/n/m/new')),
    ],
    (at) => fs.appendFileSync(at('real/other'), 'x'),
    ['rename n/m/new', 'rename ä'],
  ],
  [
    'a link that was replaced',
    (at) => [
      fs.symlinkSync('../real/other', at('tree/tmp')),
      fs.renameSync(at('tree/tmp'), at('tree/absolute')),
    ],
    (at) => fs.appendFileSync(at('real/other'), 'x'),
    ['rename absolute', 'rename ä'],
  ],
  [
    'a link that was removed',
    (at) => fs.rmSync(at('tree/ä')),
    (at) => fs.appendFileSync(at('real/other'), 'x'),
    [],
  ],
  [
    'a link in a directory that was renamed',
    (at) => fs.renameSync(at('tree/d'), at('tree/z')),
    (at) => fs.appendFileSync(at('real/file'), 'x'),
    ['rename absolute', 'rename chain', 'rename link', 'rename z/e/deep'],
  ],
  [
    'a link that changed places with a file',
    (at) => [fs.renameSync(at('tree/own'), at('tree/tmp')), fs.renameSync(at('tree/ä'), at('tree/own'))],
    (at) => fs.appendFileSync(at('real/other'), 'x'),
    ['rename own'],
  ],
])('ours, of %s', async (_, first, then, expected) => {
  const at = plant()
  const events = await told(bridge.watch as unknown as Watch, at, async () => {
    first(at)
    await sleep(60)
    fs.writeFileSync(at('tree/between'), '')
  })
  events.clear()
  then(at)
  fs.writeFileSync(at('tree/over'), '')
  await expect.poll(() => [...events].filter((each) => !each.endsWith(' over')).sort()).toEqual(expected)
})

// Node may take a link whose file has gone for a removed file, and tells the link with each change of the
// tree.
test.each<[string, (at: At) => unknown]>([
  ['removed', (at) => fs.rmSync(at('real/file'))],
  ['renamed', (at) => fs.renameSync(at('real/file'), at('real/away'))],
])('a file is %s', async (_, act) => {
  for (const watch of [bridge.watch as unknown as Watch, fs.watch as unknown as Watch])
    expect([...(await told(watch, plant(), act))]).toEqual(expect.arrayContaining(FILE))
})

test('ours: closed, nothing behind links is told, and nothing is left open', async () => {
  const at = plant()
  const events: string[] = []
  const watcher = bridge.watch(at('tree'), { recursive: true }, (type) => events.push(type))
  watcher.close()
  await sleep(50)
  fs.appendFileSync(at('real/file'), 'x')
  await sleep(50)
  expect(events).toEqual([])
})
