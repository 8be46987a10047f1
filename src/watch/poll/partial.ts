import type { Listing } from '../scan/listing.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/**
 * Whether the directories that have changed since the last poll contain the same directories as before. Then no directory has come, gone or
 * moved, each that was not listed is where it is believed to be and as it is believed to be, and what has moved from one to
 * another has changed both: so what was listed can be held against what is believed by itself. Otherwise all must be listed, to know what
 * has become of what.
 *
 * @param bases what was asked for; the id of a listing that has no parent is the place of its directory here
 */
export function keepsDirectories(
  listings: readonly Listing[],
  bases: readonly Directory[],
  tree: Tree,
): boolean {
  const byId: Array<Directory | undefined> = []
  return listings.every((listing) => {
    const { id, parent } = listing
    const above = parent === undefined ? undefined : byId[parent]
    const known = parent === undefined ? bases[id] : above && tree.entriesOf(above).get(listing.name)
    if (!(known instanceof Directory) || known.ino !== listing.ino || !tree.isAttached(known)) return false
    byId[id] = known
    return listing.isUnchanged || (isWhole(listing) && hasSameDirectories(listing, known, tree))
  })
}

function isWhole({ error, isBoundary, isMoving }: Listing): boolean {
  return error === 0 && !isBoundary && !isMoving
}

function hasSameDirectories(listing: Listing, known: Directory, tree: Tree): boolean {
  if (!known.isListed) return false
  const found = listing.subdirectories()
  let left = found.size
  for (const [name, entry] of tree.entriesOf(known)) {
    // The link that leads there may have gone, or lead elsewhere.
    if (entry instanceof Directory && isLinkBase(entry)) return false
    if (entry.kind !== 'directory' || found.get(name)?.ino !== entry.ino) {
      if (entry.kind === 'directory' || found.has(name)) return false
    } else left--
  }
  return left === 0
}
