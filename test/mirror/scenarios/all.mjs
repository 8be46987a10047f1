// kata-kubernetes.md's 27 scenarios of a mirror, and where one of them cannot be played.
import { changes } from './changes.mjs'
import { generations } from './generations.mjs'
import { kata } from './kata.mjs'
import { losses } from './losses.mjs'

/** @typedef {import('./scene.mjs').Scene} Scene */

/** By name, in their order; each throws if it does not hold. */
export const SCENARIOS = Object.entries({ ...kata, ...generations, ...changes, ...losses }).sort(
  ([one], [other]) => Number.parseInt(one, 10) - Number.parseInt(other, 10),
)

/** See STALE in src/mirror/source/snapshot.ts. */
const RENAMED = 'overlay goes on showing what was replaced by rename(2) behind it, `..data` too'
const DELETED = 'overlay goes on showing what was deleted behind it to those who ask by name'
const OWN_SERVER = "needs a server that is the test's own"

/** Why a scenario, by the beginning of its name, cannot be played behind a kind of mount. */
export const IMPOSSIBLE = {
  FUSE: {},
  overlay: {
    8: RENAMED,
    13: RENAMED,
    14: RENAMED,
    15: RENAMED,
    '19 a copy that failed with EIO': OWN_SERVER,
    '19 a copy that failed with EACCES': 'overlay goes on judging by the mode that it has once seen',
    21: DELETED,
    22: DELETED,
    23: RENAMED,
    '25 ESTALE': OWN_SERVER,
    '25 ENOTCONN': OWN_SERVER,
    27: RENAMED,
  },
  guest: {
    '19 a copy that failed with EIO': OWN_SERVER,
    '25 ESTALE': OWN_SERVER,
    '25 ENOTCONN': "the share's virtiofsd serves one mount of it, and none again once it has been killed",
  },
}

/** @param {'FUSE' | 'overlay' | 'guest'} kind @param {string} name @returns {string | undefined} */
export function impossible(kind, name) {
  return Object.entries(IMPOSSIBLE[kind]).find(
    ([start]) => name.startsWith(`${start} `) || name.startsWith(`${start}:`),
  )?.[1]
}

/**
 * ms, of which most scenarios take less than one. In the guest two take 11 and 15 s on a machine that does nothing else: a
 * reader that never rests has the one emulated processor with the mirror, and a second node takes its seconds to start.
 */
const DEADLINES = { FUSE: 20_000, overlay: 20_000, guest: 90_000 }

/**
 * Plays those that can be, and tells of each how it failed, '' if it did not.
 *
 * @param {'FUSE' | 'overlay' | 'guest'} kind
 * @param {(n: number) => Scene | Promise<Scene>} open makes the n-th one's
 */
export async function play(kind, open) {
  const deadline = DEADLINES[kind]
  /** @type {Record<string, string>} */
  const failures = {}
  for (const [n, [name, body]] of SCENARIOS.entries()) {
    if (impossible(kind, name) !== undefined) continue
    const scene = await open(n)
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${deadline} ms`)), deadline)
    })
    try {
      await Promise.race([body(scene), late])
      failures[name] = ''
    } catch (error) {
      failures[name] = error instanceof Error ? (error.stack ?? error.message) : String(error)
    } finally {
      clearTimeout(timer)
    }
    await scene.end()
  }
  return failures
}
