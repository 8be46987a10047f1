import { expect, test } from 'vitest'
import { FOUND } from './play/found.ts'
import { inWords } from './play/in_words.ts'
import { inTask, play } from './play/player.ts'

test.each(FOUND)('$what', async ({ scenario }) => {
  await inTask(() => expect(play(scenario).wrong, inWords(scenario)).toEqual([]))
})
