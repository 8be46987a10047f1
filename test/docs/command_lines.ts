import { expect } from 'vitest'
import { readExecArguments } from '../../src/cli/exec/exec.ts'
import { readMirrorArguments } from '../../src/cli/mirror/mirror_options.ts'
import { readPublishArguments } from '../../src/cli/publish/publish_options.ts'
import { readRelayArguments } from '../../src/cli/relay/relay.ts'
import { readReloadArguments } from '../../src/cli/reload/reload_options.ts'
import { UsageError } from '../../src/cli/shared/option.ts'
import { watchCommand } from '../../src/cli/watch/watch.ts'
import type { Block } from './pages.ts'

/** A line of a shell's block, or a line after the `$` of a console's, without its comment. */
export interface CommandLine {
  text: string
  /** The page, and the line in the page. */
  where: string
  /** The reason why the line cannot be run, or undefined. */
  notRun: string | undefined
}

export function commandLinesOf({ language, text, page, line, marks }: Block): CommandLine[] {
  if (language !== 'sh' && language !== 'console') return []
  return text.split('\n').flatMap((written, i) => {
    const typed = language === 'sh' ? written : (/^\$ (.*)$/.exec(written)?.[1] ?? '')
    const command = typed.replace(/(^|\s)#.*$/, '').trim()
    const mark = marks.find(({ where }) => where === undefined || command.includes(where))
    return command === '' ? [] : [{ text: command, where: `${page}:${line + 1 + i}`, notRun: mark?.reason }]
  })
}

/**
 * Returns the words after `inotify-bridge` in each command of a line. Removes quotes, and expands nothing.
 */
export function ownCommandsIn(line: string): string[][] {
  const commands: string[][] = [[]]
  for (const [word] of line.matchAll(/'[^']*'|"[^"]*"|[|&;]+|[^\s'"|&;]+/g)) {
    if (/^[|&;]/.test(word)) commands.push([])
    else commands.at(-1)?.push(word.replace(/^(['"])(.*)\1$/, '$2'))
  }
  return commands.flatMap(([program, ...words]) => (program === 'inotify-bridge' ? [words] : []))
}

/** Throws the usage error of the command, if there is one. Runs nothing. */
export async function expectRightUsage([command = '', ...args]: string[]): Promise<void> {
  switch (command) {
    case 'mirror':
      return void readMirrorArguments(args)
    case 'publish':
      return void readPublishArguments(args)
    case 'reload':
      return void readReloadArguments(args)
    case 'watch': {
      // `watch` checks its usage before it sees that its signal is aborted.
      const ended = await watchCommand.run(args, AbortSignal.abort('ended')).catch((error) => error)
      if (ended instanceof UsageError) throw ended
      return
    }
    case 'relay':
      return void readRelayArguments(args)
    case 'run':
      expect(args).toContain('--')
      return
    case 'exec':
      return void readExecArguments(args)
    case 'diagnose':
      for (const word of args)
        if (word.startsWith('-')) expect(['--check', '--json', '--probe']).toContain(word)
      return
    case 'completion':
      expect(['bash', 'zsh', 'fish']).toContain(args[0]?.replace(/>.*/, ''))
      return
    default:
      throw new UsageError(`there is no command ${command}`)
  }
}
