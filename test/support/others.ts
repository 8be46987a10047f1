import { lchownSync } from 'node:fs'

/** Whether there can be others at all: only root gives files away, and becomes another user. */
export const isRoot = process.geteuid?.() === 0

export const NOBODY = 65534

/** With these options setpriv(1), run by root, starts a program as that user. */
export const AS_NOBODY = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']

/** Makes an entry, of a symlink the link itself, another user's. */
export function giveAway(path: string): void {
  lchownSync(path, NOBODY, NOBODY)
}
