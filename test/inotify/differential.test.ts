import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { type EventBatch, formatMask, IN_ALL_EVENTS, Inotify } from '../../src/index.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'

// Compares each event with those of a C program that watches the same directories:
// ../native/random_operations.c makes the operations, and ../native/reader.c is the C program.

const ROUNDS = rounds(process.env.ROUNDS, { quick: 12, long: 20 })
const OPERATIONS = 1000

interface LoggedEvent {
  wd: number
  mask: number
  cookie: number
  /** In hex, because a name is bytes. */
  name: string
}

/**
 * The kernel drops an event that equals the queue's last (wd, mask and name; it ignores the cookie). How often that
 * happens depends on when a reader reads, so two true readers differ in it, and in it alone.
 */
function withoutRepeats(log: readonly LoggedEvent[]): LoggedEvent[] {
  return log.filter((event, i) => {
    const last = log[i - 1]
    return last?.wd !== event.wd || last.mask !== event.mask || last.name !== event.name
  })
}

function describeEvent(event: LoggedEvent | undefined): string {
  if (event === undefined) return 'nothing'
  const name = JSON.stringify(Buffer.from(event.name, 'hex').toString('latin1'))
  return `wd ${event.wd} ${formatMask(event.mask)} cookie ${event.cookie} ${name}`
}

/** The first difference between two logs as a sentence, or undefined where there is none. */
function difference(expected: readonly LoggedEvent[], actual: readonly LoggedEvent[]): string | undefined {
  const ours = withoutRepeats(actual)
  const theirs = withoutRepeats(expected)
  for (let i = 0; i < Math.max(ours.length, theirs.length); i++) {
    const [our, their] = [ours[i], theirs[i]]
    // One cookie a rename, for all instances: it can be compared as it is.
    const same =
      our?.wd === their?.wd &&
      our?.mask === their?.mask &&
      our?.name === their?.name &&
      our?.cookie === their?.cookie
    if (!same) return `event ${i}: the C reader has ${describeEvent(their)}, Inotify ${describeEvent(our)}`
  }
  return undefined
}

describe('the comparison', () => {
  const log: LoggedEvent[] = [
    { wd: 1, mask: 0x100, cookie: 0, name: '61' },
    { wd: 1, mask: 0x40, cookie: 7, name: '61' },
    { wd: 2, mask: 0x80, cookie: 7, name: '62' },
    { wd: 2, mask: 0x2, cookie: 0, name: '62' },
    { wd: 2, mask: 0x2, cookie: 0, name: '63' },
    { wd: 2, mask: 0x40000020, cookie: 0, name: '' },
  ]

  test('finds none between equal logs, and none where only identical neighbours were merged', () => {
    expect(difference(log, structuredClone(log))).toBeUndefined()
    const repeated = log.flatMap((event) => [event, event, event])
    expect(difference(repeated, log)).toBeUndefined()
    expect(difference(log, repeated)).toBeUndefined()
  })

  test.each(log.map((_, i) => i))('reports event %i dropped, altered or swapped with the next', (i) => {
    const event = log[i] as LoggedEvent
    const next = log[i + 1]
    const mutants = [
      log.toSpliced(i, 1),
      log.with(i, { ...event, wd: event.wd + 1 }),
      log.with(i, { ...event, mask: event.mask | 0x4 }),
      log.with(i, { ...event, cookie: event.cookie + 1 }),
      log.with(i, { ...event, name: `${event.name}61` }),
      log.toSpliced(i, 0, { ...event, name: 'ff' }),
      ...(next === undefined ? [] : [log.with(i, next).with(i + 1, event)]),
    ]
    for (const mutant of mutants) {
      expect(difference(log, mutant)).toMatch(/^event \d/)
      expect(difference(mutant, log)).toMatch(/^event \d/)
    }
  })
})

describe('Inotify', () => {
  const filesystems = [tmpdir(), '/dev/shm'].filter((path) => existsSync(path))
  let readerProgram = ''
  let operationsProgram = ''
  beforeAll(() => {
    readerProgram = compile('reader')
    operationsProgram = compile('random_operations')
  })

  /** Starts the C reader; resolves when its watches are placed, to a function that waits for its log. */
  async function startReader(paths: string[], signal: AbortSignal): Promise<() => Promise<LoggedEvent[]>> {
    const reader = spawn(readerProgram, paths, { signal, stdio: ['ignore', 'pipe', 'inherit'] })
    const failed = once(reader, 'error').then(([error]) => Promise.reject(error))
    failed.catch(() => {}) // it is raced below, and may come when nobody waits any more
    const log: LoggedEvent[] = []
    const lines = createInterface(reader.stdout)
    const ended = once(lines, 'close')
    await Promise.race([failed, once(lines, 'line')])
    lines.on('line', (line) => {
      const [wd, mask, cookie, name = ''] = line.split(' ')
      log.push({ wd: Number(wd), mask: Number(mask), cookie: Number(cookie), name })
    })
    return async () => {
      await Promise.race([failed, ended])
      return log
    }
  }

  /** Resolves to all that `inotify` delivers up to the sentinel. */
  function logUntilSentinel(inotify: Inotify, signal: AbortSignal): Promise<LoggedEvent[]> {
    return new Promise((resolve, reject) => {
      const log: LoggedEvent[] = []
      signal.addEventListener('abort', () => reject(signal.reason))
      inotify.on('error', reject)
      const onEvents = (batch: EventBatch) => {
        for (let i = 0; i < batch.length; i++) {
          const bytes = batch.nameBytes(i)
          const name = batch.name(i)
          if (name !== bytes.toString())
            reject(new Error(`name() is ${JSON.stringify(name)}, nameBytes() ${bytes.toString('hex')}`))
          const event = { wd: batch.wd(i), mask: batch.mask(i), cookie: batch.cookie(i) }
          log.push({ ...event, name: bytes.toString('hex') })
          if (name === 'sentinel') {
            inotify.off('events', onEvents)
            return resolve(log)
          }
        }
      }
      inotify.on('events', onEvents)
    })
  }

  async function playRound(seed: number, directory: string, blockLoop: boolean): Promise<string | undefined> {
    const signal = AbortSignal.timeout(60_000)
    const first = join(directory, 'first')
    const second = join(directory, 'second')
    const outside = join(directory, 'outside')
    const watched = [first, second, join(first, 'watched-file'), join(second, 'watched-directory')]
    for (const path of [first, second, outside, join(second, 'watched-directory')]) mkdirSync(path)
    writeFileSync(join(first, 'watched-file'), '')

    const finishReader = await startReader(watched, signal)
    using inotify = new Inotify()
    for (const path of watched) inotify.add(path, IN_ALL_EVENTS)
    const delivered = logUntilSentinel(inotify, signal)

    const args = [String(seed), String(OPERATIONS), first, second, outside]
    if (blockLoop) execFileSync(operationsProgram, args)
    else await promisify(execFile)(operationsProgram, args, { signal })
    const [expected, actual] = await Promise.all([finishReader(), delivered])
    return difference(expected, actual)
  }

  // A run that failed is played again by INOTIFY_BRIDGE_SEED=its seed.
  const firstSeed = Number(process.env.INOTIFY_BRIDGE_SEED ?? Date.now())

  test(`delivers what a C program reads, in ${ROUNDS} rounds of ${OPERATIONS} random operations`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const seed = firstSeed + round
      // Every filesystem with a loop that turns, and with one that is stuck while the events are made. By the seed, which
      // alone brings a failure back.
      const filesystem = filesystems[seed % filesystems.length] ?? tmpdir()
      const blockLoop = Math.floor(seed / filesystems.length) % 2 === 1
      const which = `seed ${seed} on ${filesystem}${blockLoop ? ', loop blocked' : ''}`
      const directory = mkdtempSync(join(filesystem, 'inotify-bridge-round-'))
      try {
        const found = await playRound(seed, directory, blockLoop)
        expect(found, which).toBeUndefined()
      } catch (cause) {
        throw new Error(`round ${round} failed with ${which}`, { cause })
      } finally {
        rmSync(directory, { recursive: true })
      }
    }
  })
})
