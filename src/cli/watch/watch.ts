import { type Command, requirePaths } from '../shared/command.ts'
import { UsageError } from '../shared/option.ts'
import { watchSupervised } from './supervised.ts'
import { watchChanges } from './watch_changes.ts'
import { readWatchArguments, WATCH_OPTIONS } from './watch_options.ts'
import { watchRaw } from './watch_raw.ts'
import { pathsIn } from './watched_paths.ts'

export const watchCommand: Command = {
  summary: 'print the changes in directories, by inotify or by polling, as their mount needs',
  usage: ['[OPTIONS] PATH...', '[OPTIONS] PATH... -- COMMAND [ARG...]'],
  about: `Waits for changes and prints them as inotifywait does: directory, events, name. What comes from a poll, on a mount that does
not deliver events, is printed alike. Of a watched path itself: LOST, RESTORED, OVERFLOW (events were lost; the difference
follows), RECOVERED.

With COMMAND it prints no changes: it starts COMMAND, and upon changes ends it with all that it has started (SIGTERM, and SIGKILL after
2 s) and starts it anew; upon a git checkout once, when that is done. If COMMAND ends by itself, one line on stderr says so, and the next
change starts it. It has the same stdin, stdout and stderr. Ctrl-C ends COMMAND, and then the watch.

REGEX is JavaScript's, searched for in the path as it is printed, and may be given more than once. Control characters and backslashes
in names are escaped.`,
  options: WATCH_OPTIONS,
  notes: `Exit code: 0 done, 1 failed or nothing within --timeout, 2 wrong usage.

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL, INOTIFY_BRIDGE_RELAY_TOKEN.`,
  examples: [
    'inotify-bridge watch -m -r src',
    'inotify-bridge watch -r --gitignore . -- node server.js',
    "inotify-bridge watch -mr --json --exclude 'node_modules/' . | jq .path",
  ],
  async run(args, signal) {
    const settings = readWatchArguments(args)
    const { paths, files, options, raw } = settings
    for (const file of files) paths.push(...(await pathsIn(file, signal)))
    requirePaths(paths)
    if (options.relay !== undefined && paths.length > 1) throw new UsageError('--relay is for one PATH')
    if (options.relay !== undefined && options.backend === 'inotify')
      throw new UsageError('--relay does not go with --backend inotify, which polls nothing')
    if (!raw) return await watchChanges(settings, signal)
    return (await watchSupervised(args, paths, options)) ?? (await watchRaw(settings, signal))
  },
}
