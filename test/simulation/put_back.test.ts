import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { type Mutation, mutatedCopy } from '../support/mutation.ts'
import { campaign, type Played } from './play/campaign.ts'
import { inTask, play } from './play/player.ts'
import { type Subject, scenarioFrom } from './play/random_scenario.ts'
import type { Scenario, Settings } from './play/scenario.ts'
import { decode, scenarioOf } from './play/schedule.ts'
import type { interleavings } from './play/sequences.ts'

// The worth of the simulation: the simulation finds faults that `watch()` once had and that were found by
// other means. Each fault is put back alone, into a copy of the sources. Schedules are played on that engine
// until one goes wrong. The same schedules must all succeed on the real engine.

/** Plays schedules on the engine of one copy of the sources. */
interface Simulation {
  play: typeof play
  interleavings: typeof interleavings
  campaign: typeof campaign
}

interface PutBack {
  /** The consequence of the fault. */
  fault: string
  mutation: Mutation
  schedules: (simulation: Simulation) => Iterator<Played>
  /** Put back in npm test as well. */
  isQuick?: true
  /** The expected finding. An exception, for one, is no proof. */
  says: RegExp
}

const faults: PutBack[] = [
  {
    fault: 'entries that were packed and unpacked meanwhile are taken for others',
    mutation: {
      file: 'watch/tree/believed_entry.ts',
      find: 'return a !== undefined && a.kind === b.kind && a.ino === b.ino',
      replace: 'return a === b',
    },
    schedules: random('events'),
    says: /was written: not told since|is gone: not told/,
  },
  {
    isQuick: true,
    fault: 'a directory that has moved while a rescan walked is not listed again',
    mutation: {
      file: 'watch/diff/identify.ts',
      find: 'if (!matching.isFound(each)) pending.failed.list(each, since)',
      replace: ';',
    },
    // One random schedule in some thousands finds this fault. Of all schedules with two operations, a few do,
    // but a thousand come before them.
    schedules: everyOrderOf(scenarioOf({ with: { lost: 1 }, do: 'write /t/b/d/h; rename /t/b/d /t/a/d' })),
    says: /was written: not told since/,
  },
  {
    fault: 'a directory that is polled for want of a watch is polled without what lies below it',
    mutation: {
      file: 'watch/diff/snapshot/scanner.ts',
      find: 'if (isPoll) return { ...place, recursive: isWhole,',
      replace: 'if (isPoll) return { ...place, recursive: isWhole && mount.usesPolling,',
    },
    schedules: random('few watches'),
    says: /^directory .* is there: not told/,
  },
  {
    fault: 'the way of a followed link is not watched',
    mutation: {
      file: 'watch/roots/links/link_watches.ts',
      find: 'watchWays(way, true, cache)',
      replace: '{ watched: [], paths: [], refused: undefined }',
    },
    schedules: random('links'),
    says: /is a symlink: told as directory|is another file: not told/,
  },
  {
    fault: 'what settle holds back goes along with only one half of an exchange',
    mutation: {
      file: 'watch/report/modify_debounce.ts',
      find: ', this.#at(other, kind)]',
      replace: ', []]',
    },
    schedules: random('events', { settle: 20 }),
    says: /was written: not told since/,
  },
  {
    fault: 'a root that lies in another is watched by itself, and a change of both is told twice',
    mutation: {
      file: 'watch/roots/forest/covering.ts',
      find: 'if (!this.#context.rules.recursive) return undefined\n    return this.#above(',
      replace: 'return undefined\n    return this.#above(',
    },
    schedules: random('nested roots'),
    says: /told 'create .*', which is there|told 'delete .*', which is not there/,
  },
]

// Far fewer schedules find each fault. The random ones change whenever the engine does.
const MOST = 1000

for (const putBack of faults) {
  const isPlayed = isLong || putBack.isQuick
  test.runIf(isPlayed)(
    `it is found when ${putBack.fault}${isPlayed ? '' : ': npm run test:long'}`,
    async () => {
      const played = await untilFound(putBack, await simulationOf(mutatedCopy(putBack.mutation)))
      await campaign(onEngineAsItIs(played), played.length)
    },
  )
}

test('what is found is said in 20 lines at most, and the last of them plays it again', async () => {
  const [putBack] = faults
  if (putBack === undefined) expect.fail('there is no fault')
  const mutated = await simulationOf(mutatedCopy(putBack.mutation))
  const found = (await untilFound(putBack, mutated)).at(-1) as Scenario
  const onMutated = [found].map((scenario): Played => [scenario, ['...']]).values()
  const said = await mutated.campaign(onMutated, 1).then(
    () => expect.fail('nothing is said'),
    (error: Error) => error.message.split('\n').slice(1),
  )
  expect(said.length).toBeLessThanOrEqual(20)
  expect(said[0]).toMatch(putBack.says)
  const shrunk = decode(/^SCHEDULE='(.*)'$/.exec(said.at(-1) ?? '')?.[1] ?? '')
  expect(shrunk.operations.length).toBeLessThan(found.operations.length)
  expect(shrunk.choices.length).toBeLessThan(found.choices.length)
  expect(await inTask(() => mutated.play(shrunk).wrong)).toContainEqual(expect.stringMatching(putBack.says))
  expect(await inTask(() => play(shrunk).wrong)).toEqual([])
})

/** Returns the schedules that were played until one went wrong as expected: the last one. */
async function untilFound({ schedules, says }: PutBack, mutated: Simulation): Promise<Scenario[]> {
  const played: Scenario[] = []
  const onMutated = schedules(mutated)
  for (let isFound = false; !isFound; ) {
    const next = played.length < MOST ? await inTask(() => onMutated.next()) : undefined
    if (next === undefined || next.done)
      expect.fail(`none of ${played.length} schedules goes wrong like that`)
    const [scenario, wrong] = next.value
    played.push(scenario)
    isFound = wrong.some((each) => says.test(each))
  }
  return played
}

/** Plays random schedules from seed 1 on, with the given settings in place of the random ones. */
function random(subject: Subject, settings: Partial<Settings> = {}): PutBack['schedules'] {
  return function* ({ play }) {
    for (let seed = 1; ; seed++) {
      const drawn = scenarioFrom(seed, subject)
      const scenario = { ...drawn, settings: { ...drawn.settings, ...settings } }
      yield [scenario, play(scenario).wrong]
    }
  }
}

/** Plays all variants of a scenario with at most two preemptions. */
function everyOrderOf(scenario: Scenario): PutBack['schedules'] {
  return ({ interleavings }) => interleavings(scenario, 2)
}

function* onEngineAsItIs(scenarios: readonly Scenario[]): Generator<Played> {
  for (const scenario of scenarios) yield [scenario, play(scenario).wrong]
}

async function simulationOf(copy: string): Promise<Simulation> {
  const load = (file: string) => import(join(copy, 'test/simulation/play', file))
  const { play } = await load('player.ts')
  const { interleavings } = await load('sequences.ts')
  const { campaign } = await load('campaign.ts')
  return { play, interleavings, campaign }
}
