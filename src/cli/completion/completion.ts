import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, parse } from '../shared/command.ts'
import { oneOf, UsageError } from '../shared/option.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionCommand: Command = {
  summary: 'print what has a shell complete the commands and their options',
  usage: [SHELLS.join(' | ')],
  about: 'Prints a script by which the shell completes the commands and their options, and paths.',
  options: {},
  notes: 'Exit code: 0 done, 1 failed, 2 wrong usage.',
  examples: [
    'inotify-bridge completion bash >/etc/bash_completion.d/inotify-bridge',
    'inotify-bridge completion zsh >/usr/local/share/zsh/site-functions/_inotify-bridge',
    'inotify-bridge completion fish >~/.config/fish/completions/inotify-bridge.fish',
  ],
  async run(args) {
    const [name, another] = parse(args, {}).words
    if (name === undefined || another !== undefined) throw new UsageError(`name one of ${SHELLS.join(', ')}`)
    const shell = oneOf(...SHELLS)(name, 'completion')
    // Made by scripts/completions.mjs.
    process.stdout.write(readFileSync(join(import.meta.dirname, 'completions', shell)))
    return 0
  },
}
