import { describe, expect, test } from 'vitest'
import { type Examination, examine } from '../../src/mounts/diagnosis/examine.ts'
import { type Files, imagine } from './imagined.ts'

export interface Case {
  table: string
  path: string
  files?: Files
  version?: string
  /** Fields of the diagnosis. */
  is: Partial<Examination['diagnosis']>
  level: Examination['verdict']['level']
  verdict: RegExp
  /** A match for the text of `reasons`. */
  because?: RegExp
  /** Each is in some item of the advice; none: there is no advice. */
  advice?: RegExp[]
}

export const delivered = { local: 'delivered', remote: 'none', pinned: 'no', backend: 'inotify' } as const
export const silent = { local: 'delivered', remote: 'silent', pinned: 'no', backend: 'inotify+poll' } as const
export const REGISTER = /NODE_OPTIONS="--import inotify-bridge\/register".*inotify-bridge exec -- PROGRAM/
export const MIRROR = /inotify-bridge mirror \/\S+ TARGET.*tmpfs.*--in-place/

/** Each of these places is examined, by the mount table as it was recorded there. */
export function testVerdicts(cases: Record<string, Case>): void {
  describe.each(Object.entries(cases))(
    '%s',
    (_, { table, path, is, level, verdict, because, advice = [], ...more }) => {
      test.each([false, true])('of a kernel that says no mount ids: %s', async (withoutIds) => {
        const found = await examine(path, imagine(table, { ...more, withoutIds }))
        expect(found.diagnosis).toMatchObject({ path, ...is })
        expect(found.verdict).toEqual({ level, text: expect.stringMatching(verdict) })
        if (because !== undefined) expect(found.diagnosis.reasons.join('\n')).toMatch(because)
        for (const item of advice) expect(found.diagnosis.advice).toContainEqual(expect.stringMatching(item))
        if (advice.length === 0) expect(found.diagnosis.advice).toEqual([])
      })
    },
  )
}
