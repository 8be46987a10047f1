import { InotifyError } from '../../errors.ts'
import { textOf } from '../../name_key.ts'

/** Names that are told; there may be any number. */
const TOLD = 5

/**
 * Returns the error that says what is missing in the target and a source can give no more, as it is held, lost or unreadable: somebody has removed it,
 * or it never fitted.
 *
 * @param keepsOthersBack whether the keys of the other sources wait
 */
export function irretrievable(
  target: string,
  lost: ReadonlyArray<{ readonly name: string; readonly source: string }>,
  keepsOthersBack: boolean,
): InotifyError {
  const names = [...new Set(lost.map(({ name }) => textOf(name)))]
  const sources = new Set(lost.map(({ source }) => source))
  const more = names.length > TOLD ? ` and ${names.length - TOLD} more` : ''
  const what = `${names.slice(0, TOLD).join(', ')}${more} of ${[...sources].join(', ')}`
  const rest = keepsOthersBack ? '; what is new of other keys waits for that' : ''
  return new InotifyError({
    errno: 'ENODATA',
    syscall: 'mirror',
    path: target,
    hint: `missing in the target, and not to be had again: ${what}, which is over the limits, lost or unreadable${rest}`,
  })
}
