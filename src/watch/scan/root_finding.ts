import type { Listing } from './listing.ts'

/** The directory that a root's path leads to. */
export interface RootFinding {
  /** 0, or -errno of opening or reading it. */
  error: number
  /** True: the error says nothing of the root: see {@link Listing.isShort}. */
  isShort: boolean
  /** True: there is no such directory, or it was removed while it was listed: see {@link Listing.isGone}. */
  isGone: boolean
  identity: string
  ino: number
}

export function findingOf({ error, isShort, isGone, identity, ino }: Listing): RootFinding {
  return { error, isShort, isGone, identity, ino }
}
