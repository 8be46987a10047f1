export { AddonLoadError, InotifyError } from '../errors.ts'
export type { Backend } from '../mounts/filesystems.ts'
export { waitFor, watch } from './calls.ts'
export type { WatchOptions } from './options.ts'
export type {
  Change,
  ChangeMaker,
  Entry,
  EntryChange,
  ExchangeChange,
  Kind,
  LostReason,
  RenameChange,
  RootChange,
  Source,
} from './report/change.ts'
export type { Coverage } from './report/coverage.ts'
export type { NextOptions } from './report/next_change.ts'
export { Watcher } from './watcher.ts'
