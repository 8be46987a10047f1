import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MountRow, mountAt, parseMountinfo } from '../../src/mounts/mountinfo.ts'

/** The text of a recorded mount table. */
export function tableText(name: string): string {
  return readFileSync(join(import.meta.dirname, 'fixtures', `${name}.txt`), 'utf8')
}

/** The mount of a path by a recorded mount table, which has one. */
export function recorded(name: string, path: string): MountRow {
  const mount = mountAt(parseMountinfo(tableText(name)), path)
  if (mount === undefined) throw new Error(`${name} has no mount for ${path}`)
  return mount
}
