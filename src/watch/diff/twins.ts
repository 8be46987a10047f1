import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/**
 * Returns the directories that are not to count, with all that lies in them. If links are followed, a directory may be asked for in several ways, and found
 * as often: it has one place, and what lies in it lies in that. A whole listing is better than a look.
 */
export function twinsIn(directories: readonly SnapshotDir[]): ReadonlySet<SnapshotDir> {
  const dropped = new Set<SnapshotDir>()
  const isDropped = (found: SnapshotDir): boolean => {
    // As a rule none is dropped, and a directory may lie thousands of levels deep.
    if (dropped.size === 0) return false
    for (let each: SnapshotDir | undefined = found; each !== undefined; each = each.parent)
      if (dropped.has(each)) return true
    return false
  }
  const byPath = new Map<string, SnapshotDir>()
  for (const found of directories) {
    if (isDropped(found)) continue
    const known = byPath.get(found.path)
    const twin = known === undefined || isDropped(known) ? undefined : known
    const isKept = twin === undefined || isBetter(found, twin)
    if (isKept) byPath.set(found.path, found)
    if (twin !== undefined) dropped.add(isKept ? twin : found)
  }
  if (dropped.size > 0) for (const found of directories) if (isDropped(found)) dropped.add(found)
  return dropped
}

/** Returns true if a found directory is better than its twin. If equal, the one met in a listing wins over a known one: a link may be a directory now. */
function isBetter(found: SnapshotDir, twin: SnapshotDir): boolean {
  const more = completeness(found) - completeness(twin)
  return more > 0 || (more === 0 && isComeBy(found) && !isComeBy(twin))
}

function isComeBy({ parent }: SnapshotDir): boolean {
  return parent?.listing !== undefined
}

function completeness({ listing, target, isOnOtherMount }: SnapshotDir): number {
  // If another mount begins here, the listing says no more: the mount's own listing has its entries.
  if (listing?.error !== 0 || isOnOtherMount) return 0
  if (target?.isLook !== true) return 3
  return target.names === undefined ? 2 : 1
}
