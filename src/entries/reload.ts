export { AddonLoadError, InotifyError } from '../errors.ts'
export type { ReloadFailure } from '../reload/apply_state.ts'
export type { ReloadAction, ReloadOptions } from '../reload/options.ts'
export { Reloader, type ReloaderEvents, reload } from '../reload/reloader.ts'
