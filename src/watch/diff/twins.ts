import type { Directory } from '../tree/directory.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/** A place that something was found at: a path, without a string that grows with its depth. */
interface FoundPlace {
  readonly below: Map<string, FoundPlace>
  found?: SnapshotDir
}

/**
 * Where links are followed, a directory may be asked for in several ways, and found as often: it has one place, and what lies in it lies in that. A
 * listing of all that is in there is better than a look. The answer: what is not to count, with all that lies in it.
 */
export function twinsIn(directories: readonly SnapshotDir[]): ReadonlySet<SnapshotDir> {
  const dropped = new Set<SnapshotDir>()
  const isDropped = (found: SnapshotDir): boolean => {
    // As a rule there are none, and a directory may lie thousands of levels deep.
    if (dropped.size === 0) return false
    for (let each: SnapshotDir | undefined = found; each !== undefined; each = each.parent)
      if (dropped.has(each)) return true
    return false
  }
  const places = new Map<SnapshotDir | Directory, FoundPlace>()
  for (const found of directories) {
    const place = placeOf(places, found)
    if (isDropped(found)) continue
    const twin = place.found
    const isFirst = twin === undefined || isDropped(twin)
    if (isFirst || isBetter(found, twin)) place.found = found
    if (!isFirst) dropped.add(place.found === found ? twin : found)
  }
  if (dropped.size > 0) for (const found of directories) if (isDropped(found)) dropped.add(found)
  return dropped
}

function placeOf(places: Map<SnapshotDir | Directory, FoundPlace>, found: SnapshotDir): FoundPlace {
  const known = places.get(found)
  if (known !== undefined) return known
  const { parent, name } = found
  // What has none is known: a root, or the way to what was asked for.
  const directory = found.target?.requested ?? found.match
  const place =
    parent !== undefined
      ? placeBelow(placeOf(places, parent), name)
      : directory !== undefined
        ? placeOfKnown(places, directory)
        : { below: new Map() }
  places.set(found, place)
  return place
}

function placeOfKnown(places: Map<SnapshotDir | Directory, FoundPlace>, directory: Directory): FoundPlace {
  const above: Directory[] = []
  let each: Directory | undefined = directory
  for (; each !== undefined && !places.has(each); each = each.parent) above.push(each)
  let place = each && places.get(each)
  for (const next of above.reverse()) {
    place = place === undefined ? { below: new Map() } : placeBelow(place, next.name)
    places.set(next, place)
  }
  return place as FoundPlace
}

function placeBelow({ below }: FoundPlace, name: string): FoundPlace {
  let place = below.get(name)
  if (place === undefined) {
    place = { below: new Map() }
    below.set(name, place)
  }
  return place
}

/** As good as another is what a listing has led to, and not a belief: what was a link may be a directory now. */
function isBetter(found: SnapshotDir, twin: SnapshotDir): boolean {
  const more = completeness(found) - completeness(twin)
  return more > 0 || (more === 0 && isComeBy(found) && !isComeBy(twin))
}

function isComeBy({ parent }: SnapshotDir): boolean {
  return parent?.listing !== undefined
}

function completeness({ listing, target, isOnOtherMount }: SnapshotDir): number {
  // Where another mount begins, that is all that the listing says: what is in it, its own does.
  if (listing?.error !== 0 || isOnOtherMount) return 0
  if (target?.isLook !== true) return 3
  return target.names === undefined ? 2 : 1
}
