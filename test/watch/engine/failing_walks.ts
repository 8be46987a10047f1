import { constants } from 'node:os'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'

export interface Fault {
  code: keyof typeof constants.errno
  /** What fails: unless it is said, to read it once it is open. What is not open has no inode number. */
  of?: 'open' | 'watch'
  /** How long it takes. */
  ms?: number
}

/** Has walks fail at directories, by their names, for as long as these are in `faults`. `tries`: when they have. */
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
      // Nothing is found below what cannot be read.
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
    // A server that takes its time.
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
