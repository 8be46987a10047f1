import { findRun } from '../addon.ts'
import { type RunOptions, wordsOf } from './options.ts'
import { RunningProgram } from './running_program.ts'

/**
 * Starts a program, of any language, so that it and all that it starts hear by inotify(7) of changes on mounts that deliver no events: virtiofs, NFS, FUSE, 9p, SMB. It is as the command
 * `inotify-bridge run`, whose limits it has: docs/run.md.
 *
 * The handle is as that of `child_process.spawn()`. A program that is not found, and a kernel that cannot serve it, are told by 'error', and then by 'exit': 127 (126 if it cannot be executed), and 1.
 *
 * @throws TypeError: an argument or option is wrong
 * @throws AddonLoadError: there is no supervisor for this platform: it is for x64 and arm64
 *
 * @example
 * ```js
 * import { once } from 'node:events'
 * import { run } from 'inotify-bridge/run'
 *
 * const program = run('node', ['-e', 'fs.watch(process.cwd()); setTimeout(process.exit, 200)'], { cwd: '/tmp', stdio: 'inherit' })
 * program.on('watch', ({ path, source }) => console.log(path, source)) // /tmp inotify
 * const [code] = await once(program, 'exit')
 * console.log(code) // 0
 * ```
 */
export function run(command: string, args: readonly string[] = [], options: RunOptions = {}): RunningProgram {
  const words = wordsOf(command, args, options)
  return new RunningProgram(findRun(), words, options)
}
