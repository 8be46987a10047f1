import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Puts a symlink in the place of another at once, as a deployment does. */
export function replaceLink(base: string, name: string, to: string): void {
  symlinkSync(to, join(base, 'new'))
  renameSync(join(base, 'new'), join(base, name))
}
