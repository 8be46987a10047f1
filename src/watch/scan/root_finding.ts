import type { Listing } from './listing.ts'

/** What a root's path leads to. */
export interface RootFinding {
  /** 0, or -errno of opening or reading it. */
  error: number
  /** That says nothing of it: see {@link Listing.isShort}. */
  isShort: boolean
  /** There is none, or it was removed while it was listed: see {@link Listing.isGone}. */
  isGone: boolean
  identity: string
  ino: number
}

export function findingOf({ error, isShort, isGone, identity, ino }: Listing): RootFinding {
  return { error, isShort, isGone, identity, ino }
}
