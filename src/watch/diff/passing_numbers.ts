import { isRenumbered } from '../scan/entry.ts'
import type { Tree } from '../tree/tree.ts'
import { KnownPlaces } from './snapshot/known_places.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

// Once the kernel has forgotten a file, it has another inode number on vfat, cifs and FUSE servers that make numbers up
// (libfuse without use_ino: sshfs, unionfs-fuse, mergerfs). There kind, size, mode, times and name identify an entry.

/**
 * Learns which polled mounts give other numbers to unchanged files. Returns true if a directory's number became another between the listing of its parent and
 * its own: only a later listing can tell if the number has passed, or the directory was replaced.
 *
 * @param since ms since the epoch: all changes before had been seen when the known entries were
 */
export function learnNumbers(snapshot: Snapshot, tree: Tree, since: number): boolean {
  if (!snapshot.directories.some(({ mount }) => mount.usesPolling)) return false
  let isMixed = false
  for (const [found, known] of new KnownPlaces().of(snapshot)) {
    const { listing, isRead } = found
    const { mount, ino } = known
    if (mount.numbersPass || !mount.usesPolling || !isRead || listing === undefined) continue
    if (listing.filesCount > 0 && known.isPackedAs(listing.packedFiles)) continue
    const isIt = ino === 0 || ino === listing.ino
    // No listing says which directory a root, or the end of a link, is.
    if (!isIt && mount.base !== known) {
      isMixed ||= found.asEntry?.ino === ino
      continue
    }
    for (const [name, entry] of tree.entriesOf(known)) {
      const now = found.entries.get(name)
      if (now !== undefined && isRenumbered(entry, now, since, isIt)) mount.distrustNumbers()
    }
    tree.trim()
  }
  return isMixed
}

/** Drops the known numbers on mounts where numbers pass: they say nothing. */
export function forgetNumbers(snapshot: Snapshot, tree: Tree): void {
  if (!snapshot.directories.some(({ mount }) => mount.numbersPass)) return
  for (const [{ isRead }, known] of new KnownPlaces().of(snapshot)) {
    if (!isRead || !known.mount.numbersPass) continue
    known.ino = 0
    for (const entry of tree.entriesOf(known).values()) entry.ino = 0
    tree.trim()
  }
}
