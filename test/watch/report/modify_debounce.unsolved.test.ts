import { expect, test } from 'vitest'
import type { Change, Kind } from '../../../src/index.ts'
import { systemClock } from '../../../src/watch/clock.ts'
import { ModifyDebounce } from '../../../src/watch/report/modify_debounce.ts'
import { inWords } from '../support.ts'

const common = { mask: 0, source: 'inotify' } as const
const change = (type: 'modify' | 'attrib', path: string, kind: Kind): Change => ({
  type,
  path: `/r/${path}`,
  kind,
  ...common,
})
const rename: Change = {
  type: 'rename',
  from: '/r/a',
  path: '/r/b',
  replaced: false,
  kind: 'symlink',
  ...common,
}

// A link that came over a file is told as a file by its event, which does not say, and as a link when it has been looked at.
test.each<[string, Change, string]>([
  ['a rename', rename, 'modify symlink b'],
  ['an attrib', change('attrib', 'a', 'symlink'), 'modify symlink a'],
])('what is held back has the kind that %s has told since', (_, later, expected) => {
  const told: Change[] = []
  const debounce = new ModifyDebounce(100, true, systemClock, (changes) => told.push(...changes))
  debounce.take([change('modify', 'a', 'file')])
  debounce.take([later])
  debounce.flush()
  debounce.stop()
  expect(told.map((each) => inWords(each, '/r')).at(-1)).toBe(expected)
})
