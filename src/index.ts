export { AddonLoadError, InotifyError } from './errors.ts'
export type { EventBatch, InotifyEvent } from './inotify/batch.ts'
export * from './inotify/constants.ts'
export { Inotify, type InotifyOptions } from './inotify/inotify.ts'
export type { InotifyLimits } from './inotify/limits.ts'
export { formatMask } from './inotify/mask.ts'
export { Mirror, type MirrorEvents, type MirrorState, mirror } from './mirror/mirror.ts'
export { KATA_LIMITS, type MirrorOptions } from './mirror/options.ts'
export type { Skipped } from './mirror/plan/tree.ts'
export { type Diagnosis, diagnose } from './mounts/diagnosis/diagnose.ts'
export type { Backend } from './mounts/filesystems.ts'
export type { Mount } from './mounts/mountinfo.ts'
export { moveFile } from './publish/move_file.ts'
export { publishDirectory } from './publish/publish_directory.ts'
export { replaceFile } from './publish/replace_file.ts'
export type { ReloadFailure } from './reload/failure.ts'
export type { ReloadAction, ReloadOptions } from './reload/options.ts'
export { Reloader, type ReloaderEvents, reload } from './reload/reloader.ts'
export type { Coverage } from './watch/engine/coverage.ts'
export type { WatchOptions } from './watch/options.ts'
export type {
  Change,
  EntryChange,
  ExchangeChange,
  Kind,
  RenameChange,
  RootChange,
  Source,
} from './watch/report/change.ts'
export { Watcher, watch } from './watch/watcher.ts'
