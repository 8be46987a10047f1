import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { changeTrigger } from '../../src/reload/change_trigger.ts'
import { scratch } from '../support/scratch.ts'

test('of hundreds of links that cannot be watched a few are told of, and how many more there are', async () => {
  const directory = scratch()
  const told: string[] = []
  const hints = changeTrigger(
    [directory],
    () => {},
    ({ message }) => told.push(message),
  )
  onTestFinished(() => hints.close())
  // Longer than a name may be: none can be watched.
  const links = Array.from({ length: 200 }, (_, n) => join(directory, `${'x'.repeat(300)}${n}`))
  await hints.follow(links)
  expect(told).toHaveLength(6)
  expect(told.at(-1)).toMatch(
    /^ENAMETOOLONG: .*'.*x\d+' \(and 194 more, which are looked at by the clock alone\)$/,
  )
  await hints.follow(links)
  expect(told, 'once while it lasts').toHaveLength(6)
  await hints.follow([])
  // The trigger has forgotten the links that are gone.
  await hints.follow(links)
  expect(told).toHaveLength(12)
})
