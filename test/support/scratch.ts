import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty directory that goes with the test. */
export function scratch(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'inotify-bridge-'))
  // Of a large tree it may take longer than the 10 s that vitest would give it.
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }), 60_000)
  return directory
}
