// A server that has stopped, or whose network is gone, answers nothing: a question to it waits, and nothing ends the wait. That may delay what is told of its own mount, and nothing else.
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
    // As long as the machine may be busy with other tests; else for as long as the server is stopped.
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
