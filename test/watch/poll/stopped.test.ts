// A server that has stopped, or whose network is gone, gives no answer: a question waits without end. That
// may delay the changes of the server's own mount, and no others.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

function play(name: string): { isTold: boolean; held: number; closed: number } {
  const program = [process.execPath, join(import.meta.dirname, 'stopped.mjs'), scratch(), name]
  const { stdout, stderr } = spawnSync('unshare', ['-rm', ...program], { encoding: 'utf8', timeout: 60_000 })
  expect(stdout, stderr).toMatch(/^\{/)
  return JSON.parse(stdout)
}

describe.skipIf(!mayUnshare || !isBuilt)('a server has stopped (needs user namespaces and dist)', () => {
  test.each([
    ...['directory', 'file', 'files', 'missing', 'link to a file', 'link to a directory'],
    ...['directory, and a mount elsewhere', 'file, and a mount elsewhere', 'missing, and a mount elsewhere'],
  ])('changes elsewhere are told all the same: %s', (name) => {
    const { isTold, held, closed } = play(name)
    expect(isTold).toBe(true)
    // The bound allows for a machine that is busy with other tests. Otherwise the loop would be held for as
    // long as the server is stopped.
    expect(Math.max(held, closed)).toBeLessThan(5000)
  })

  test.each(['directory, before the start', 'file, before the start', 'missing, before the start'])(
    'neither the loop nor close() is held: %s',
    (name) => {
      const { held, closed } = play(name)
      expect(Math.max(held, closed)).toBeLessThan(5000)
    },
  )
})
