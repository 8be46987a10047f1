import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import tmp from 'tmp'
import { onTestFinished } from 'vitest'
import { type Mirror, mirror } from '../../src/mirror/mirror.ts'
import type { MirrorOptions } from '../../src/mirror/options.ts'

/** A source, a target on a tmpfs where there is one, and a mirror between them; all gone when the test is over. */
export interface Fixture {
  readonly source: string
  readonly target: string
  start(options?: MirrorOptions): Promise<Mirror>
}

/** A long interval, so that passes are those that the test asks for; nothing has to hold still for long. */
export const QUICK = { interval: 60_000, quiet: 5 } satisfies MirrorOptions

export function fixture(): Fixture {
  const source = join(directory(), 'source')
  const target = join(inMemory(), 'target')
  mkdirSync(source)
  return { source, target, start: (options) => begin(source, target, options) }
}

/** A mirror that is closed when the test is over. */
export async function begin(
  source: string | string[],
  target: string,
  options?: MirrorOptions,
): Promise<Mirror> {
  const started = await mirror(source, target, { ...QUICK, ...options })
  onTestFinished(() => started.close())
  return started
}

/** A directory that is removed, with what is in it, when the test is over. */
export function directory(tmpdir?: string): string {
  const made = tmp.dirSync({ unsafeCleanup: true, ...(tmpdir === undefined ? {} : { tmpdir }) })
  onTestFinished(() => made.removeCallback())
  return made.name
}

/** The same on a tmpfs, if there is one. */
export function inMemory(): string {
  return directory(existsSync('/dev/shm') ? '/dev/shm' : undefined)
}
