import { KnownPlaces } from '../diff/snapshot/known_places.ts'
import type { Snapshot } from '../diff/snapshot/snapshot.ts'
import type { Listing } from '../scan/listing.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/**
 * Returns true if the directories that have changed since the last poll contain the same directories as before. Then
 * none has come, gone or moved, each unlisted one is as it is believed to be, and a move has changed both directories.
 * So the listings alone can be compared with the beliefs. Otherwise all must be listed, to know what has become of what.
 */
export function keepsDirectories(snapshot: Snapshot, tree: Tree): boolean {
  const knownAs = new KnownPlaces().of(snapshot)
  return snapshot.directories.every((found) => {
    const { listing } = found
    const known = knownAs.get(found)
    if (listing === undefined || known === undefined) return false
    const isIt = known.ino === listing.ino || known.mount.numbersPass
    if (!isIt || !tree.isAttached(known)) return false
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
    const now = found.get(name)
    if (entry.kind !== 'directory') {
      if (now !== undefined) return false
    } else if (now === undefined || (now.ino !== entry.ino && !known.mount.numbersPass)) return false
    else left--
  }
  return left === 0
}
