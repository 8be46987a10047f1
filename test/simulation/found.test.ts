import { expect, test } from 'vitest'
import { FOUND } from './play/found.ts'
import { inWords } from './play/in_words.ts'
import { inTask, play } from './play/player.ts'

// What does not hold yet: UNSOLVED=1 plays it.
const [solved, unsolved] = [false, true].map((isUnsolved) =>
  FOUND.filter(({ scenario: { settings } }) => (settings.followSymlinks || settings.isNested) === isUnsolved),
)

test.each(solved ?? [])('$what', async ({ scenario }) => {
  await inTask(() => expect(play(scenario).wrong, inWords(scenario)).toEqual([]))
})

test.runIf(process.env.UNSOLVED !== undefined).each(unsolved ?? [])('$what', async ({ scenario }) => {
  await inTask(() => expect(play(scenario).wrong, inWords(scenario)).toEqual([]))
})
