import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VARIABLE = 'INOTIFY_BRIDGE_TEST_PROGRAMS'

/** Where the programs of test/native are, which are compiled once in a run: see compile.ts. */
export function programs(): string {
  const directory = process.env[VARIABLE]
  if (directory === undefined)
    throw new Error(`${VARIABLE} is not set: vitest.config.ts has a globalSetup that does it`)
  return directory
}

/** A globalSetup of vitest's, which has one for each project, and hands the environment on to who runs the tests. */
export default function setUp(): (() => void) | undefined {
  // Of another project, or of the run in which this is a test's.
  if (process.env[VARIABLE] !== undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-programs-'))
  process.env[VARIABLE] = directory
  return () => rmSync(directory, { recursive: true })
}
