import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CoalescedTask } from '../src/coalesced_task.ts'

/** Returns a task whose runs end when the test says so. */
function controlled() {
  const ends: Array<(error?: Error) => void> = []
  let running = 0
  const shared = new CoalescedTask(async () => {
    if (++running > 1) throw new Error('two at once')
    const failure = await new Promise<Error | undefined>((resolve) => ends.push(resolve))
    running--
    if (failure !== undefined) throw failure
  })
  /** Ends the run with this number, and lets all happen that follows. */
  const end = async (i: number, error?: Error) => {
    ends[i]?.(error)
    await turn()
  }
  return { shared, ends, end }
}

/** Records the outcomes of callers, by name. */
function asking(shared: CoalescedTask) {
  const outcomes: string[] = []
  const ask = (name: string) => {
    const note = (what: string) => () => {
      outcomes.push(`${name} ${what}`)
    }
    shared.run().then(note('done'), note('failed'))
  }
  return { ask, outcomes }
}

test('all who ask before it begins share a run', async () => {
  const { shared, ends, end } = controlled()
  const { ask, outcomes } = asking(shared)
  ask('a')
  ask('b')
  await turn()
  expect([ends.length, outcomes]).toEqual([1, []])
  await end(0)
  expect([ends.length, outcomes]).toEqual([1, ['a done', 'b done']])
})

test('who asks during a run gets the next, and shares it', async () => {
  const { shared, ends, end } = controlled()
  const { ask, outcomes } = asking(shared)
  ask('a')
  await turn()
  ask('b')
  ask('c')
  await turn()
  expect(ends).toHaveLength(1)
  await end(0)
  expect([ends.length, outcomes]).toEqual([2, ['a done']])
  ask('d')
  await end(1)
  expect([ends.length, outcomes]).toEqual([3, ['a done', 'b done', 'c done']])
  await end(2)
  expect([ends.length, outcomes.at(-1)]).toEqual([3, 'd done'])
})

test('who asks when none is under way gets one at once', async () => {
  const { shared, ends, end } = controlled()
  const { ask, outcomes } = asking(shared)
  ask('a')
  await turn()
  await end(0)
  ask('b')
  await turn()
  expect(ends).toHaveLength(2)
  await end(1)
  expect(outcomes).toEqual(['a done', 'b done'])
})

test('a run that fails is a failure of those who asked for it, and the next runs', async () => {
  const { shared, ends, end } = controlled()
  const { ask, outcomes } = asking(shared)
  ask('a')
  ask('b')
  await turn()
  ask('c')
  const failure = new Error('as asked')
  await end(0, failure)
  expect([ends.length, outcomes]).toEqual([2, ['a failed', 'b failed']])
  await end(1)
  expect(outcomes.at(-1)).toBe('c done')
  const last = shared.run()
  await turn()
  await Promise.all([expect(last).rejects.toBe(failure), end(2, failure)])
})

test('work that throws at once is a failure as well', async () => {
  const failure = new Error('at once')
  let runs = 0
  const shared = new CoalescedTask(() => {
    runs++
    throw failure
  })
  await expect(shared.run()).rejects.toBe(failure)
  await expect(shared.run()).rejects.toBe(failure)
  expect(runs).toBe(2)
})

test('it is idle when no run is under way, and none is to follow', async () => {
  const { shared, end } = controlled()
  const { ask, outcomes } = asking(shared)
  await shared.idle()
  ask('a')
  await turn()
  ask('b')
  const idle = shared.idle().then(() => outcomes.push('idle'))
  await end(0)
  await end(1, new Error('as asked'))
  await idle
  expect(outcomes).toEqual(['a done', 'b failed', 'idle'])
})
