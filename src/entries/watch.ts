export { AddonLoadError, InotifyError } from '../errors.ts'
export type { Backend } from '../mounts/filesystems.ts'
export type { Coverage } from '../watch/engine/coverage.ts'
export type { WatchOptions } from '../watch/options.ts'
export type {
  Change,
  EntryChange,
  ExchangeChange,
  Kind,
  RenameChange,
  RootChange,
  Source,
} from '../watch/report/change.ts'
export { Watcher, watch } from '../watch/watcher.ts'
