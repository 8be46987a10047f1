import { lchownSync } from 'node:fs'

/** Whether there can be others at all: only root gives files away. */
export const isRoot = process.getuid?.() === 0

export const NOBODY = 65534

/** Makes an entry, of a symlink the link itself, another user's. */
export function giveAway(path: string): void {
  lchownSync(path, NOBODY, NOBODY)
}
