import { relayAddress } from '../../relay/address.ts'
import { type Reader, UsageError } from '../shared/option.ts'

/** Reads the address of a relay, and leaves it as it is. */
export const relayText: Reader<string> = (text, name) => {
  try {
    relayAddress(text, name)
    return text
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
