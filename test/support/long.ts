import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/**
 * Whether a test has all the time that it takes: `npm run test:long` sets LONG, and runs the files that ask here. `npm test` is what a stranger waits for:
 * it leaves most of them out, and plays fewer rounds of the others.
 */
export const isLong = process.env.LONG !== undefined

// A container may have 64 MB there.
const hasRoom = (directory: string) => {
  if (!existsSync(directory)) return false
  const { bsize, bavail, ffree } = statfsSync(directory)
  return bsize * bavail > 2 ** 30 && ffree > 500_000
}

/** Where large trees are made: in memory. On a disk's filesystem, to make a file and to remove it takes the kernel several times as long. */
export const roomy = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

/** How many rounds there are: as many as are asked for in the environment, or else what there is time for. */
export function rounds(asked: string | undefined, { quick, long }: { quick: number; long: number }): number {
  return Number(asked ?? (isLong ? long : quick))
}
