import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * An empty directory that goes with the test.
 *
 * @param atEnd of the test's context, where tests run concurrently: vitest's own is that of any of them
 */
export function scratch(parent = tmpdir(), atEnd = onTestFinished): string {
  const directory = mkdtempSync(join(parent, 'inotify-bridge-'))
  // Of a large tree it may take longer than the 10 s that vitest would give it.
  atEnd(() => rmSync(directory, { recursive: true, force: true }), 60_000)
  return directory
}
