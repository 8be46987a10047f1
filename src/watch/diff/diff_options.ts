import type { Source } from '../report/change.ts'
import type { Directory } from '../tree/directory.ts'

/** How what is found is held against what is believed. */
export interface DiffOptions {
  source: Source
  /** See {@link alteration} in entry.ts. */
  since: number
  /** The same, of directories that were compared already, since then: when what is listed was listed before, and has to be listed again. */
  comparedSince?: Map<Directory, number> | undefined
  /** Names alone count: a root that came back is another directory, with others in it. */
  matchByName: boolean
  /** Nothing is told: what is found is what there was when watching began. */
  baseline: boolean
  /** Then whoever asked tells all of it as new: what is done from now on is to be told. */
  isToldLater: boolean
  /** Names that events have told of since the survey began. */
  eventNames?: ReadonlyMap<Directory, ReadonlySet<string>> | undefined
  /** What was not listed is as it is believed to be: a poll has found no directory that has come, gone or moved. */
  isPartial?: boolean
  /** Every entry is looked at: events have been lost, and its times must tell what has changed. */
  statAll: boolean
  /** What is believed was saved, each entry with its stat: so that is compared, and directories that have moved are known by their inode numbers, since none has a watch. */
  isSaved?: boolean
}

/** All that was found by looking, whenever it came about, is told. */
export const RESCAN: DiffOptions = {
  source: 'rescan',
  since: Number.POSITIVE_INFINITY,
  matchByName: false,
  baseline: false,
  isToldLater: false,
  statAll: false,
}

/** What was saved is held against what is there. */
export const SAVED: DiffOptions = { ...RESCAN, source: 'snapshot', statAll: true, isSaved: true }
