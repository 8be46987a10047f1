export { AddonLoadError, InotifyError } from '../errors.ts'
export { Mirror, type MirrorEvents, type MirrorState, mirror } from '../mirror/mirror.ts'
export { KATA_LIMITS, type MirrorOptions } from '../mirror/options.ts'
export type { Skipped } from '../mirror/plan/tree.ts'
