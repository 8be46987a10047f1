import type { InotifyError } from '../../errors.ts'
import { textOf } from '../../name_key.ts'
import { failure } from '../../publish/failure.ts'
import type { Contribution } from '../plan/merge.ts'
import type { Step } from '../plan/plan.ts'
import type { TargetNode } from '../plan/tree.ts'

/** Names that are told; there may be any number. */
const TOLD = 5

/**
 * Returns the error that says what is missing in the target and a source can give no more, as it is held, lost or unreadable: somebody has removed it,
 * or it never fitted. undefined if it is not of these sources.
 *
 * @param asked what the sources have that can give no more
 * @param keepsOthersBack whether the keys of the other sources wait
 */
export function irretrievable(
  target: string,
  lacking: readonly Step[],
  asked: readonly Contribution[],
  keepsOthersBack: boolean,
  isGone: (node: TargetNode) => boolean,
): InotifyError | undefined {
  const missing = lacking.map(({ path }) => path.split('/')[0] ?? '')
  const names = new Set<string>()
  const sources = new Set<string>()
  for (const { source, entries, generation } of asked) {
    const isKeyless = keepsOthersBack && generation !== undefined && isGone(generation.tree)
    for (const name of [...(isKeyless ? ['keys'] : []), ...missing.filter((each) => entries.has(each))]) {
      names.add(textOf(name))
      sources.add(source)
    }
  }
  if (names.size === 0) return undefined
  const more = names.size > TOLD ? ` and ${names.size - TOLD} more` : ''
  const what = `${[...names].slice(0, TOLD).join(', ')}${more} of ${[...sources].join(', ')}`
  const rest = keepsOthersBack ? '; what is new of other keys waits for that' : ''
  const hint = `missing in the target, and not to be had again: ${what}, which is over the limits, lost or unreadable${rest}`
  return failure('ENODATA', 'mirror', target, hint)
}
