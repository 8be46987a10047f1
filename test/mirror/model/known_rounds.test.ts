// Rounds that once went wrong, made smaller: by the model's fault or by the mirror's.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compile } from '../../support/compile.ts'
import { scratch } from '../../support/scratch.ts'
import type { Round } from './rounds.mjs'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/cli.js'))

const ROUNDS: Record<string, Round> = {
  // The mirror has not had a version of either: it keeps for them all that the one before has left.
  'the command starts with a source over its limits, and another goes over them before it has looked': {
    seed: 699729259,
    layouts: ['flat', 'flat', 'file'],
    target: 'scratch',
    steps: [
      ['stop', 2, 470725057],
      ['swap', 0, 1579145398],
      ['flat', 2, 1235020778],
      ['start', 1, 163372879],
      ['bulk', 0, 336143038],
      ['swap', 2, 2087811282],
    ],
  },
  "a source is over its limits by a link's text": {
    seed: 411757717,
    layouts: ['chained', 'flat', 'file'],
    target: 'scratch',
    steps: [
      ['stop', 0, 705372465],
      ['swap', 1, 119795492],
      ['flat', 1, 1295699073],
    ],
  },
  'somebody puts a directory in the place of one that the mirror made, which may get its inode number': {
    seed: 79873967,
    layouts: ['flat', 'flat'],
    target: 'scratch',
    steps: [
      ['flat', 2, 306020325],
      ['flat', 0, 397050033],
      ['attack', 2, 554917928],
    ],
  },
  'a link leads to another link, which is new and behind it in the order of names': {
    seed: 737869557,
    layouts: ['flat'],
    target: 'scratch',
    steps: [
      ['rotate', 2, 846578985],
      ['rotate', 0, 1650625267],
      ['quiet', 0, 888074727],
      ['rotate', 1, 189141904],
    ],
  },
  'somebody puts a directory in the place of one by way of a link to what that lies in': {
    seed: 381033849,
    layouts: ['configmap', 'configmap'],
    target: 'scratch',
    steps: [
      ['flat', 1, 1441407818],
      ['swap', 1, 460067105],
      ['quiet', 2, 1801151050],
      ['attack', 2, 96202320],
    ],
  },
}

test.skipIf(!isBuilt).each(Object.entries(ROUNDS))('%s', async (_, round) => {
  // They load dist.
  const [{ play }, { setStage }] = await Promise.all([import('./play.mjs'), import('./stage.mjs')])
  const [base, target] = [join(scratch(), 'sources'), scratch()]
  mkdirSync(base)
  const stage = await setStage('plain', compile('target_reader'), base, [`scratch=${target}`])
  onTestFinished(() => stage.end())
  const { wrong, journal } = await play(round, stage)
  expect(wrong, journal.join('\n')).toEqual([])
})
