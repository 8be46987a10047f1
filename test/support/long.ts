import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/**
 * Whether a test has all the time that it takes: `npm run test:long` sets LONG, and runs the files that ask here. `npm test` is what a stranger waits for:
 * it keeps each promise by fewer rounds of the same.
 */
export const isLong = process.env.LONG !== undefined

/**
 * Where large trees are made. In memory for those who wait: on a disk's filesystem to make a file and to remove it takes the kernel several times as long.
 */
export const roomy = isLong || !existsSync('/dev/shm') ? tmpdir() : '/dev/shm'

/** How many rounds there are: as many as are asked for in the environment, or else what there is time for. */
export function rounds(asked: string | undefined, { quick, long }: { quick: number; long: number }): number {
  return Number(asked ?? (isLong ? long : quick))
}
