import { type Command, parse } from '../shared/command.ts'
import { CommandError } from '../shared/ending.ts'
import { UsageError } from '../shared/option.ts'
import { runProgram } from '../shared/run_program.ts'

export const execCommand: Command = {
  summary: 'run a program of Node that hears of changes on every mount: hot reload in a container or VM',
  usage: ['-- COMMAND [ARG...]'],
  about: `Runs COMMAND so that each program of Node in it hears of changes on mounts that deliver no events (virtiofs, NFS, FUSE, 9p): for
hot reload in a container or a virtual machine. The programs need no change and no setting.

It adds '--import .../inotify-bridge/dist/register.js' to NODE_OPTIONS, which every Node reads that COMMAND starts: fs.watch() is
that of inotify-bridge/fs there. Programs that are not Node (Bun, Deno, TypeScript 7), that watch by an addon of their own (Turbopack,
Parcel), and 'node --watch' hear no more than before.`,
  options: {},
  notes: `COMMAND has the same stdin, stdout and stderr; signals are passed on to it. As process 1 of a container it also waits for the processes
that others leave behind.
Exit code: COMMAND's, 127 if it is not found, 126 if it cannot be executed; 2 wrong usage. A signal that ends COMMAND ends this, too.`,
  examples: [
    'inotify-bridge exec -- npm run dev',
    'inotify-bridge exec -- npx next dev --webpack',
    'inotify-bridge exec -- npx nodemon server.js',
  ],
  async run(args) {
    const [program, ...rest] = readExecArguments(args)
    // A URL has neither spaces nor quotes, which NODE_OPTIONS would need escapes for.
    const { href } = new URL('./register.js', import.meta.url)
    const { NODE_OPTIONS = '' } = process.env
    const env = { ...process.env, NODE_OPTIONS: `${NODE_OPTIONS} --import ${href}`.trimStart() }
    try {
      return await runProgram(program, rest, env)
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === 127)
        error.message += ' (npx runs what node_modules has)'
      throw error
    }
  },
}

/** Throws UsageError. */
export function readExecArguments(args: string[]): [program: string, ...rest: string[]] {
  const { before, behind = [] } = parse(args, {})
  const [program, ...rest] = behind
  if (before.length > 0 || program === undefined || program === '')
    throw new UsageError('write the command behind --, as in: inotify-bridge exec -- npm run dev')
  return [program, ...rest]
}
