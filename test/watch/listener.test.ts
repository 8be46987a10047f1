import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Change } from '../../src/index.ts'
import { watch } from '../../src/watch/calls.ts'
import type { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'

type Heard = Array<Array<Change<string | Buffer>>>
test.each<[string, (root: string, heard: Heard) => Watcher | Watcher<Buffer>]>([
  ['(path, listener)', (root, heard) => watch(root, (changes) => heard.push(changes))],
  [
    '(path, options, listener)',
    (root, heard) => watch(root, { recursive: true }, (changes) => heard.push(changes)),
  ],
  ['(path, undefined, listener)', (root, heard) => watch(root, undefined, (changes) => heard.push(changes))],
  ['of buffers', (root, heard) => watch([root], { encoding: 'buffer' }, (changes) => heard.push(changes))],
])('watch%s: the listener is given what `changes` gives', async (_, open) => {
  const [root, heard, emitted]: [string, Heard, unknown[]] = [scratch(), [], []]
  const watcher = open(root, heard) as Watcher
  onTestFinished(() => watcher.close())
  watcher.on('changes', (changes) => emitted.push(changes))
  await watcher.ready
  mkdirSync(join(root, 'a'))
  await watcher.sync()
  expect(heard.flat().map(({ path }) => path.toString())).toEqual([join(root, 'a')])
  expect(heard).toEqual(emitted)
})

test.each([5, 'listener', {}, null])('a listener that is %j is a TypeError', (wrong) => {
  expect(() => watch('/', {}, wrong as unknown as () => void)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE', message: expect.stringContaining('listener') }),
  )
})
