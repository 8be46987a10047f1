import { lchownSync } from 'node:fs'

/** The test may use other users: only root gives files away, and becomes another user. */
export const isRoot = process.geteuid?.() === 0

export const NOBODY = 65534

/** The options with which setpriv(1), run by root, starts a program as that user. */
export const AS_NOBODY = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']

/** Gives an entry to another user. Follows no symlink. */
export function giveAway(path: string): void {
  lchownSync(path, NOBODY, NOBODY)
}
