// Programs that nobody has changed, under `run`, on a silent mount: each notices every change that is made behind it, and none twice.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MAIN, Program } from '../cli/command.ts'
import { mayServeFuse, silentMount } from '../cli/in_place.ts'
import { freePort, PATIENCE, watchedBy } from '../integration/programs.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { type Consumer, prepare } from './consumer.ts'
import { CONSUMERS } from './programs.ts'
import { obstacle } from './served.ts'

/** A program that hears of some hears of more: CHANGES=100 for a hunt. */
const CHANGES = Number(process.env.CHANGES ?? 8)
const RUN = [process.execPath, MAIN, 'run', '--interval', '20', '--verbose', '--']

const missing = obstacle || (mayServeFuse && mayUnshare ? '' : 'needs /dev/fuse and unshare -rm')

/** The program on a silent mount, behind which nothing has been changed yet. */
async function begin(consumer: Consumer, before: readonly string[], ...after: string[]) {
  const { back, front, wrap } = silentMount()
  const place = { back, front, out: scratch(), port: await freePort() }
  const argv = [...before, ...(await prepare(consumer, place)), ...after]
  const [file = '', ...args] = wrap(argv, { remembered: consumer.remembered })
  const input = consumer.input && { input: consumer.input(place) }
  const run = new Program(file, args, { ...input, environment: { OUT: place.out } })
  const noticed = async () => consumer.noticed(place, run.stdout + run.stderr)
  return { place, run, noticed }
}

/** Resolves to the process that watches a path, when it does. */
async function watcherOf(run: Program, path: string): Promise<number> {
  const said = new RegExp(`process (\\d+) watches "${path}" by poll`)
  await run.until('stderr', said)
  const pid = Number(said.exec(run.stderr)?.[1])
  // SIGTERM, which it gets as the supervisor ends, may not end it: incrond's handler can wait for a lock that its own thread has.
  onTestFinished(() => kill(pid))
  // It has been said before there is a watch.
  const paths = () => new Set(run.stderr.match(new RegExp(`(?<=process ${pid} watches ).*(?= by)`, 'g')))
  await expect.poll(() => watchedBy(pid).length - paths().size, PATIENCE).toBe(0)
  return pid
}

/** Ends a process, if it is still there. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

describe.skipIf(missing !== '')(`on FUSE, changed behind it${missing && ` (${missing})`}`, () => {
  for (const consumer of CONSUMERS) {
    const { name, lacks, watches, listens, restsFor = 0, expected, change } = consumer
    test.skipIf(lacks !== '')(
      `${name} notices each of ${CHANGES} changes${lacks && ` (${lacks})`}`,
      async () => {
        const { place, run, noticed } = await begin(consumer, RUN)
        const pid = watches === undefined ? 0 : await watcherOf(run, join(place.front, watches))
        await expect.poll(noticed, PATIENCE).toEqual(expected(0))
        for (let n = 1; n <= CHANGES; n++) {
          if (listens) await expect.poll(() => listens(pid), PATIENCE).toBe(true)
          await change(place, n)
          await expect.poll(noticed, PATIENCE).toEqual(expected(n))
          await sleep(restsFor)
        }
      },
    )
  }

  // It would be told in order: when it has heard of the other directory, there is nothing more to come of the mount.
  test.each(CONSUMERS.slice(0, 2))('$name without run hears nothing', async (consumer) => {
    const local = scratch()
    const { place, run, noticed } = await begin(consumer, [], local)
    await expect.poll(() => watchedBy(run.pid), PATIENCE).toHaveLength(2)
    for (let n = 1; n <= CHANGES; n++) await consumer.change(place, n)
    const before = run.stdout
    mkdirSync(join(local, 'directory'))
    await expect.poll(() => run.stdout, PATIENCE).not.toBe(before)
    expect(await noticed()).toEqual([])
  })
})
