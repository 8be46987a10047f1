// The picture at the top of README.md: GUEST_PICTURE names the file that scripts/picture.mjs draws it of.
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withGuest } from './suite.ts'

interface Heard {
  /** ms since the first update began. */
  at: number
  event: string
  name: string
}

withGuest('what an ordinary watcher hears of the host, virtiofs, cache=auto', { cache: 'auto' }, (run) => {
  test('of the share: nothing; of a mirror: an IN_MOVED_TO ..data for each update', async () => {
    const colors = ['green', 'blue']
    const heard = await run<{ updates: number[]; share: Heard[]; target: Heard[] }>('watched', { colors })
    expect(heard.share).toEqual([])
    const swaps = heard.target.filter(({ event, name }) => event === 'IN_MOVED_TO' && name === '..data')
    expect(swaps).toHaveLength(colors.length)
    for (const [i, { at }] of swaps.entries()) expect(at).toBeGreaterThan(heard.updates[i] as number)
    const kept = process.env.GUEST_PICTURE
    if (kept !== undefined) writeFileSync(kept, `${JSON.stringify(heard, undefined, 2)}\n`)
  })
})
