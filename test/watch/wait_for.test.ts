import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { waitFor } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  const options = { backend, interval: 5 }
  const MAKINGS: ReadonlyArray<[string, (at: (name: string) => string) => void]> = [
    ['a file', (at) => fs.writeFileSync(at('x'), '')],
    ['a directory', (at) => fs.mkdirSync(at('x'))],
    ['a rename', (at) => fs.renameSync(at('other'), at('x'))],
    ['a link to a file', (at) => fs.symlinkSync('other', at('x'))],
    [
      'a swapped link above',
      (at) => [fs.mkdirSync(at('v/x'), { recursive: true }), fs.symlinkSync('v/x', at('x'))],
    ],
  ]
  test.each(MAKINGS)('it resolves when the path comes: %s', async (_, make) => {
    const root = scratch()
    const at = (name: string) => join(root, name)
    fs.writeFileSync(at('other'), '')
    let isThere = false
    const waiting = waitFor(at('x'), options).then(() => {
      isThere = true
    })
    await waitFor(at('other'), options)
    expect(isThere).toBe(false)
    make(at)
    await waiting
    await waitFor(at('x'), options)
  })

  test('of several it waits for all, whose directories may be missing, at the same time', async () => {
    const root = scratch()
    const at = (name: string) => join(root, name)
    const done = vi.fn()
    const waiting = waitFor([at('a'), at('d/e/b')], options).then(done)
    fs.writeFileSync(at('a'), '')
    await waitFor(at('a'), options)
    fs.rmSync(at('a'))
    fs.mkdirSync(at('d/e'), { recursive: true })
    fs.writeFileSync(at('d/e/b'), '')
    await waitFor(at('d/e/b'), options)
    // The other watcher has seen `a` go by now, or will.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(done).not.toHaveBeenCalled()
    fs.writeFileSync(at('a'), '')
    await waiting
  })

  test.each(['before', 'while it waits'])(
    'it rejects with the reason of a signal that aborts %s',
    async (when) => {
      const abort = new AbortController()
      if (when === 'before') abort.abort('enough')
      const waiting = waitFor(join(scratch(), 'x'), { ...options, signal: abort.signal })
      setTimeout(() => abort.abort('enough'), 20)
      await expect(waiting).rejects.toBe('enough')
    },
  )
})

test.each<[unknown, unknown, string]>([
  ['', {}, 'path'],
  ['/x', { timeout: 5 }, 'options.timeout is no option'],
  ['/x', { interval: 0 }, 'options.interval'],
])('what is wrong rejects with a TypeError: %j, %j', async (path, options, named) => {
  await expect(waitFor(path as string, options as object)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_VALUE',
    message: expect.stringContaining(named),
  })
})
