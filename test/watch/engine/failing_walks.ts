import { constants } from 'node:os'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'

export interface Fault {
  code: keyof typeof constants.errno
  /**
   * The call that fails: by default the read of the open directory. A directory that could not be opened has
   * no inode number.
   */
  of?: 'open' | 'watch'
  /** The ms that the failure takes. */
  ms?: number
}

/**
 * Makes walks fail at directories of these names, for as long as `faults` holds the names. `tries` gets the
 * time of each failure.
 */
export function failingWalks(): { faults: Map<string, Fault>; tries: number[] } {
  const faults = new Map<string, Fault>()
  const tries: number[] = []
  const walk = Walker.prototype.walk
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(async function (
    this: Walker,
    requests,
    take,
    watching,
  ) {
    const unread = new Set<number>()
    const met: Fault[] = []
    const tamper = (listing: Listing) => {
      // A walk finds nothing below a directory that it cannot read.
      if (listing.parent !== undefined && unread.has(listing.parent)) return void unread.add(listing.id)
      const { root = '', rel = '' } = requests[listing.id] ?? {}
      const name = listing.parent === undefined ? basename(rel === '' ? root : rel) : listing.name
      const fault = faults.get(name)
      if (fault !== undefined) {
        met.push(fault)
        if (fault.of !== 'watch') unread.add(listing.id)
        spoil(listing, fault)
      }
      take(listing)
    }
    await walk.call(this, requests, tamper, watching)
    tries.push(...met.map(() => performance.now()))
    // Plays a slow server.
    for (const { ms = 0 } of met) await sleep(ms)
  })
  onTestFinished(() => spy.mockRestore())
  return { faults, tries }
}

function spoil(listing: Listing, { code, of }: Fault): void {
  const none = () => new Map()
  const error = -constants.errno[code]
  const unread = { error, entries: none, subdirectories: none }
  const found = of === 'watch' ? { wd: error } : of === 'open' ? { ...unread, ino: 0, wd: 0 } : unread
  for (const [key, value] of Object.entries(found)) Object.defineProperty(listing, key, { value })
}
