import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VARIABLE = 'INOTIFY_BRIDGE_TEST_PROGRAMS'

/** Returns the directory of the programs of test/native, which are compiled once in a run: see compile.ts. */
export function programs(): string {
  const directory = process.env[VARIABLE]
  if (directory === undefined)
    throw new Error(`${VARIABLE} is not set: vitest.config.ts has a globalSetup that does it`)
  return directory
}

/**
 * A globalSetup of vitest, which runs once for each project and hands the environment on to the test
 * processes.
 */
export default function setUp(): (() => void) | undefined {
  // The variable is set by another project, or by an outer vitest.
  if (process.env[VARIABLE] !== undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-programs-'))
  process.env[VARIABLE] = directory
  return () => rmSync(directory, { recursive: true })
}
