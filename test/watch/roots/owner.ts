import { ITSELF, type PathWatches, type WatchedName } from '../../../src/watch/roots/path_watches.ts'

/** An owner that keeps the list of its watches, as a root does. */
export interface Owner {
  watched: readonly WatchedName[]
}

/** Replaces the watches of an owner. Returns the watches that nobody has any more. */
export function setWatches(
  index: PathWatches,
  owner: Owner,
  ways: readonly WatchedName[],
  own = 0,
): number[] {
  const before = owner.watched
  owner.watched = own > 0 ? [...ways, { wd: own, name: ITSELF }] : ways
  return index.replace(owner, before, owner.watched)
}
