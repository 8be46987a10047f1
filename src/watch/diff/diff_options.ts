import type { Source } from '../report/change.ts'
import type { Directory } from '../tree/directory.ts'

/** The way in which a snapshot is compared with the tree. */
export interface DiffOptions {
  source: Source
  /** See {@link alteration} in entry.ts. */
  since: number
  /** True: names alone count, as a root that came back is another directory, with others in it. */
  matchByName: boolean
  /** True: nothing is reported, as the snapshot shows what there was when watching began. */
  baseline: boolean
  /** True, with a baseline: the caller reports all of it as new, and changes from now on are to be reported. */
  isToldLater: boolean
  /** The names that events were about since the survey began. */
  eventNames?: ReadonlyMap<Directory, ReadonlySet<string>> | undefined
  /** Filled with the directories in which something has changed. */
  changed?: Set<Directory> | undefined
  /** True: directories that were not listed are as known: a poll has found no directory that has come, gone or moved. */
  isPartial?: boolean
  /** True: every entry is looked at, as events were lost and its times must tell what has changed. */
  statAll: boolean
  /** True: the tree is a saved one, with a stat of each entry to compare. Moved directories are known by their inode numbers, since none has a watch. */
  isSaved?: boolean
}

/** Reports all differences that a look has found, whenever they came about. */
export const RESCAN: DiffOptions = {
  source: 'rescan',
  since: Number.POSITIVE_INFINITY,
  matchByName: false,
  baseline: false,
  isToldLater: false,
  statAll: false,
}

/** Compares the saved tree with what is there. */
export const SAVED: DiffOptions = { ...RESCAN, source: 'snapshot', statAll: true, isSaved: true }
