// A path that vanishes before the first look is not a directory for that: a file that comes at a root's path
// is that root.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { linux } from '../../../src/watch/linux.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'

/**
 * Returns a file, and a system in which the file is gone right after each look at its mount, while `isGoing`.
 */
function fleeting() {
  const base = scratch()
  const [path, aside] = [join(base, 'f'), join(base, 'aside')]
  const state = { isGoing: true }
  const choose: typeof linux.choose = async (asked) => {
    const choice = await linux.choose(asked)
    if (state.isGoing) renameSync(path, aside)
    return choice
  }
  return { base, path, aside, state, system: { choose } }
}

test.each(['inotify', 'poll'] as const)(
  '%s: a file that was gone as it was first watched',
  async (backend) => {
    const { base, path, aside, state, system } = fleeting()
    writeFileSync(path, '')
    const { told } = await watching(path, { backend, interval: 1_000_000 }, system)
    state.isGoing = false
    renameSync(aside, path)
    expect((await told()).map((change) => inWords(change, base))).toEqual(['restored f', 'create file f'])
  },
)

test.each(['inotify', 'poll'] as const)(
  '%s: a file that has come, and was gone as it was looked at',
  async (backend) => {
    const { base, path, aside, state, system } = fleeting()
    const { told } = await watching(path, { backend, interval: 1_000_000 }, system)
    for (let i = 0; i < 2; i++) {
      writeFileSync(path, '')
      expect(await told()).toEqual([])
      rmSync(aside)
    }
    state.isGoing = false
    writeFileSync(path, '')
    expect((await told()).map((change) => inWords(change, base))).toEqual(['restored f', 'create file f'])
  },
)
