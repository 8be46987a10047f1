// How long it takes from an edit to the rebuild, by inotify-bridge and by the program's own watcher.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './rebuilds.mjs'

/**
 * @typedef {import('./programs.mjs').Program} Program
 * @typedef {import('./rebuilds.mjs').Rebuilds} Rebuilds
 * @typedef {import('../stage.mjs').Stage['start']} Start
 * @typedef {{ behind: string, shown: string, out: string }} Paths where it is edited, where the program sees it, where what is built goes
 * @typedef {{ name: string, rebuilds: Rebuilds, edit: (version: number) => Promise<void> }} Player
 */

/** The original is waited for so many times as long as ours has taken at most. */
const FACTOR = 10

/** @param {number[]} times */
export const p50 = (times) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN

/**
 * Where no events are delivered the same edits are made for both, each in a project of its own. The original may build the first of them, as it still looks
 * for the first time. Whether it has built the last is looked at when FACTOR times as long as the slowest of ours has gone by.
 *
 * @param {Program} program
 * @param {Paths} paths
 * @param {number} edits
 * @param {Start} start
 */
export async function whereSilent(program, paths, edits, start) {
  const [ours, own] = await players(program, paths, start)
  const times = []
  let version = await warmUp(ours, 1)
  for (let count = 0; count < edits; count++) {
    version++
    const [time] = await Promise.all([timeOf(ours, version), own.edit(version)])
    times.push(time)
  }
  const bound = FACTOR * Math.max(...times)
  await own.rebuilds.reach(version, bound).catch(() => {})
  return { p50: p50(times), bound, isOwnRebuilt: own.rebuilds.version === version }
}

/**
 * Where events are delivered both run at the same time, each with a project of its own, and are edited by turns.
 *
 * @param {Program} program
 * @param {Paths} paths
 * @param {number} edits
 * @param {Start} start
 */
export async function byTurns(program, paths, edits, start) {
  const [ours, own] = await players(program, paths, start)
  let version = await warmUp(own, await warmUp(ours, 1))
  /** @type {Map<Player, number[]>} */
  const times = new Map([
    [ours, []],
    [own, []],
  ])
  for (let count = 0; count < edits; count++) {
    version++
    for (const player of count % 2 === 0 ? [ours, own] : [own, ours])
      times.get(player)?.push(await timeOf(player, version))
  }
  const [oursTook, ownTook] = [...times.values()].map(p50)
  return { ours: oursTook ?? Number.NaN, own: ownTook ?? Number.NaN }
}

/** Both have built for the first time when this resolves. @param {Program} program @param {Paths} paths @param {Start} start */
async function players(program, { behind, shown, out }, start) {
  const [ours, own] = [true, false].map(async (isOurs) => {
    const name = isOurs ? 'ours' : 'own'
    const file = join(behind, name, program.file)
    // Each is longer than the last, so that it takes one write(2), and nobody sees the file empty: of that change chokidar would tell, and not of the next.
    const edit = (/** @type {number} */ version) => writeFile(file, program.text(version), { flag: 'r+' })
    const [project, made] = [join(shown, name), join(out, name)]
    const place = { behind: join(behind, name), project, out: made, isOurs }
    return { name, rebuilds: await run(program, place, start), edit }
  })
  return /** @type {Promise<[Player, Player]>} */ (Promise.all([ours, own]))
}

/** ms until what is written now is built. @param {Player} player @param {number} version */
async function timeOf({ name, rebuilds, edit }, version) {
  // Of two changes of a file within 50 ms chokidar tells the first, and Vite builds that. Nor may edits keep step with polls.
  await sleep(100 + 100 * Math.random())
  const start = performance.now()
  await edit(version)
  await rebuilds.reach(version).catch((cause) => {
    throw new Error(`${name} has not built an edit`, { cause })
  })
  return performance.now() - start
}

/**
 * Edits until one is told of: some have built before they watch, and do not say when they do.
 *
 * @param {Player} player
 * @param {number} version
 */
async function warmUp({ rebuilds, edit }, version) {
  let last = version
  for (const patience = performance.now() + 20_000; rebuilds.version <= version; ) {
    if (performance.now() > patience) throw new Error('no edit is told of in 20 s')
    await edit(++last)
    await rebuilds.reach(last, 1_000).catch(() => {})
  }
  return last
}
