import { join, resolve } from 'node:path'
import { readIfAny } from './read_if_any.ts'

/** Returns the directory in which git keeps what it knows of a working tree: .git in it or, of a worktree or a submodule, the directory that a file .git names. */
export function gitDirectoryOf(top: string): string {
  const own = join(top, '.git')
  const named = /^gitdir: (.*)/.exec(readIfAny(own, 'utf8'))?.[1]
  return named === undefined ? own : resolve(top, named)
}
