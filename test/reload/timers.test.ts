import { expect, test } from 'vitest'
import { Timers } from '../../src/reload/timers.ts'

// A timer of node is the earlier, the more of a ms has passed at its start.
test('a change is looked at when it has rested, and not in a burst, at whatever part of a ms it comes', async () => {
  const tries = Array.from({ length: 100 }, async (_, n) => {
    const began = performance.now()
    while (performance.now() < began + n / 100);
    const isBurst = await new Promise<boolean>((resolve) => {
      const timers: Timers = new Timers({ delay: 20 + n / 100, interval: 60_000 }, () => {
        resolve(timers.begin())
        timers.close()
      })
      timers.changed()
    })
    return isBurst
  })
  expect((await Promise.all(tries)).filter(Boolean)).toEqual([])
})
