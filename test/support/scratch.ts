import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Makes an empty directory that is removed after the test.
 *
 * @param atEnd the test context's own, where tests run concurrently: vitest's global one may belong to any of them
 */
export function scratch(parent = tmpdir(), atEnd = onTestFinished): string {
  const directory = mkdtempSync(join(parent, 'inotify-bridge-'))
  // Removing a large tree may take longer than vitest's 10 s.
  atEnd(() => rmSync(directory, { recursive: true, force: true }), 60_000)
  return directory
}
