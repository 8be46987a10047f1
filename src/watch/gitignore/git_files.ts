import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Returns the text of a file; '' if there is none that can be read.
 *
 * @param encoding 'latin1': a character for each byte
 */
export function readIfAny(path: string, encoding: 'utf8' | 'latin1', followsLink = true): string {
  let fd: number | undefined
  try {
    // Mostly there is none, or .git is a directory, and an error thrown costs more than this call.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return ''
    // A FIFO that comes in its place would hold the reader for ever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLink ? 0 : constants.O_NOFOLLOW))
    return readFileSync(fd, encoding)
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Returns the directory in which git keeps what it knows of a working tree: .git in it or, of a worktree or a submodule, the directory that a file .git names. */
export function gitDirectoryOf(top: string): string {
  const own = join(top, '.git')
  const named = /^gitdir: (.*)/.exec(readIfAny(own, 'utf8'))?.[1]
  return named === undefined ? own : resolve(top, named)
}

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
