import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/**
 * A test has all the time that it takes: `npm run test:long` sets LONG, and runs the files that ask here.
 * `npm test` must be quick for strangers: it leaves most of these tests out, and plays fewer rounds of the
 * others.
 */
export const isLong = process.env.LONG !== undefined

// A container may have only 64 MB there.
const hasRoom = (directory: string) => {
  if (!existsSync(directory)) return false
  const { bsize, bavail, ffree } = statfsSync(directory)
  return bsize * bavail > 2 ** 30 && ffree > 500_000
}

/**
 * The directory for large trees: in memory. On a disk's filesystem, the kernel takes several times as long to
 * make and remove a file.
 */
export const roomy = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

/** Returns the number of rounds: the environment's, or as many as the time allows. */
export function rounds(asked: string | undefined, { quick, long }: { quick: number; long: number }): number {
  return Number(asked ?? (isLong ? long : quick))
}
