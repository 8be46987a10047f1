import { InotifyError } from '../../errors.ts'
import { textOf } from '../../name_key.ts'
import type { Contribution } from '../plan/merge.ts'
import type { Step } from '../plan/plan.ts'

/** Names that are told; there may be any number. */
const TOLD = 5

/**
 * The error that says what is missing in the target and a source can give no more, as it is held, lost or unreadable: somebody has removed it,
 * or it never fitted. undefined if none of them is one of these sources'.
 *
 * @param steps what has to be placed, and cannot be
 * @param hasKeys whether all the keys of a source can be had
 * @param keepsOthersBack whether the keys of the other sources wait
 */
export function irretrievable(
  target: string,
  steps: readonly Step[],
  contributions: readonly Contribution[],
  hasKeys: (contribution: Contribution) => boolean,
  keepsOthersBack: boolean,
): InotifyError | undefined {
  const names = new Set<string>()
  const sources = new Set<string>()
  for (const contribution of contributions) {
    const { source, entries } = contribution
    if (!hasKeys(contribution)) {
      names.add('keys')
      sources.add(source)
    }
    for (const { path } of steps) {
      const [name = ''] = path.split('/')
      if (!entries.has(name)) continue
      names.add(name)
      sources.add(source)
    }
  }
  if (names.size === 0) return undefined
  const [told, more] = [[...names].slice(0, TOLD).map(textOf).join(', '), names.size - TOLD]
  const what = `${told}${more > 0 ? ` and ${more} more` : ''} of ${[...sources].join(', ')}`
  const rest = keepsOthersBack ? '; what is new of other keys waits for that' : ''
  return new InotifyError({
    errno: 'ENODATA',
    syscall: 'mirror',
    path: target,
    hint: `missing in the target, and not to be had again: ${what}, which is over the limits, lost or unreadable${rest}`,
  })
}
