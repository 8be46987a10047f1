// Directories that are published to, and what is in them.
import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { publishDirectory } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'

/** A version directory's name. */
export const VERSION = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/

/** Returns the path that `..data` holds. */
export const data = (directory: string) => readlinkSync(join(directory, '..data'))

export const read = (...path: string[]) => readFileSync(join(...path), 'utf8')

/** A new directory that these files are published to. */
export async function published(files: Record<string, string>) {
  const directory = scratch()
  await publishDirectory(directory, files)
  return directory
}
