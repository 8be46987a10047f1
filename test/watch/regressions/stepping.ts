import { linux } from '../../../src/watch/linux.ts'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import type { WalkRequest } from '../../../src/watch/scan/walk_request.ts'
import type { TreeWalker, WatchSystem } from '../../../src/watch/system.ts'

interface Step {
  request: WalkRequest
  above: { id: number; name: string; mountId: number } | undefined
}

/**
 * Returns a system whose walkers, while `between` is set, walk one directory at a time, level by level, with
 * a look at each. Tests can act between two steps: `between` gets the path of the next one.
 */
export function stepping() {
  const control: { between: ((path: string) => void) | undefined } = { between: undefined }
  const openWalker = (): TreeWalker => {
    const walker = linux.openWalker()
    const walk: TreeWalker['walk'] = async (requests, take, watching) => {
      if (control.between === undefined) return await walker.walk(requests, take, watching)
      const steps: Step[] = requests.map((request) => ({ request, above: undefined }))
      for (let id = 0; id < steps.length; id++) {
        const { request, above } = steps[id] as Step
        const { root, rel } = request
        control.between?.(rel === '' ? root : `${root}/${rel}`)
        const found: Listing[] = []
        await walker.walk([{ ...request, recursive: false }], (listing) => found.push(listing), watching)
        for (const listing of found) {
          const isBoundary = above !== undefined && listing.error === 0 && listing.mountId !== above.mountId
          const place = above === undefined ? { id } : { id, parent: above.id, name: above.name }
          // The record has the wrong name, so no reader may keep it.
          take(seenAs(listing, { ...place, isBoundary, isPlain: false }))
          if (!request.recursive || listing.error !== 0 || isBoundary) continue
          for (const name of listing.subdirectories().keys()) {
            const below = { ...request, rel: rel === '' ? name : `${rel}/${name}`, parentIno: listing.ino }
            steps.push({ request: below, above: { id, name, mountId: listing.mountId } })
          }
        }
      }
    }
    return {
      walk,
      walkAhead: (...args) => walker.walkAhead(...args),
      forgetAhead: () => walker.forgetAhead(),
      pollIdle: (...args) => walker.pollIdle(...args),
      cancel: () => walker.cancel(),
      commit: () => walker.commit(),
      forget: () => walker.forget(),
      close: () => walker.close(),
      get took() {
        return walker.took
      },
    }
  }
  const system: Pick<WatchSystem, 'openWalker'> = { openWalker }
  return Object.assign(control, { system })
}

/** The listing, as if a walk had come to it from above. */
function seenAs(listing: Listing, place: object): Listing {
  return new Proxy(listing, {
    get: (target, key) => {
      if (key in place) return Reflect.get(place, key)
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
