import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty directory that goes with the test. */
export function scratch(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'inotify-bridge-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
