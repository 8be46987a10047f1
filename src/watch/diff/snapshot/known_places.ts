import type { Directory } from '../../tree/directory.ts'
import type { Snapshot } from './snapshot.ts'
import type { SnapshotDir } from './snapshot_dir.ts'

/** The directories known at places where a scan may find others. None is unpacked to find them. */
export class KnownPlaces {
  readonly #below = new Map<Directory, Map<string, Directory>>()

  /** Returns the directory known at a name. */
  at(parent: Directory, name: string): Directory | undefined {
    let names = this.#below.get(parent)
    if (names === undefined) {
      names = new Map()
      for (const each of parent.subdirectories()) names.set(each.name, each)
      this.#below.set(parent, names)
    }
    return names.get(name)
  }

  /** Returns, for each directory of a snapshot, the directory known at its place, if there is one. */
  of({ directories }: Snapshot): ReadonlyMap<SnapshotDir, Directory> {
    const knownAs = new Map<SnapshotDir, Directory>()
    for (const found of directories) {
      const { name, parent, target } = found
      const above = parent && (knownAs.get(parent) ?? parent.match)
      const known = target?.requested ?? (above && this.at(above, name))
      if (known !== undefined) knownAs.set(found, known)
    }
    return knownAs
  }
}
