import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { readIfAny } from './read_if_any.ts'

/** Returns the path of the file with a user's rules for all repositories: core.excludesFile of the user's and the system's git-config(1), files that these include left out. */
export function globalRuleFile(): string {
  const { XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL } = process.env
  const own = join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'git')
  const configs = GIT_CONFIG_GLOBAL
    ? [GIT_CONFIG_GLOBAL]
    : [join(homedir(), '.gitconfig'), join(own, 'config'), '/etc/gitconfig']
  const named = configs
    .map((path) => excludesFileIn(readIfAny(path, 'utf8')))
    .find((file) => file !== undefined)
  return named === undefined ? join(own, 'ignore') : resolve(homedir(), named.replace(/^~\//, ''))
}

function excludesFileIn(config: string): string | undefined {
  const sections = config.split(/^\s*(?=\[)/m).filter((section) => /^\[core\]/i.test(section))
  const values = sections.join('\n').matchAll(/^(?:\[core\])?\s*excludesfile\s*=\s*("[^"]*"|[^"#;\n]*)/gim)
  return [...values].at(-1)?.[1]?.replaceAll('"', '').trim() || undefined
}
