export { AddonLoadError } from '../errors.ts'
export type { RunOptions } from '../run/options.ts'
export { run } from '../run/run.ts'
export { type ProgramWatch, type RunEvents, RunningProgram } from '../run/running_program.ts'
