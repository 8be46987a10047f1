import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { compile } from '../support/compile.ts'
import { isLong } from '../support/long.ts'
import { stop } from '../support/stopped.ts'
import { isBuilt } from './child.ts'

// 45,000 directories take a few seconds of a whole processor, and took 121 s beside five busy processes on
// two processors.
vi.setConfig({ testTimeout: 600_000 })

/** The answer of deep.mjs. */
interface Told {
  types: Record<string, number>
  errors: Array<{ code: string; length: number; hint: string }>
  /** Changes of short paths, below the root. */
  short: string[]
  /** The lengths of the paths of uncovered directories. */
  uncovered: number[]
  mib: number
}

const chain = (...args: string[]) => void execFileSync(compile('chain'), args, { stdio: 'pipe' })

/**
 * Makes a directory in memory, with directories of these names for deep chains, and removes it after the
 * test.
 */
function directoryFor(...chains: string[]): string {
  const directory = mkdtempSync('/dev/shm/inotify-bridge-')
  onTestFinished(() => {
    for (const name of chains) chain('remove', join(directory, name))
    rmSync(directory, { recursive: true })
  })
  for (const name of chains) mkdirSync(join(directory, name))
  return directory
}

/**
 * Starts a watcher in a process of its own: see deep.mjs. The first answer tells the entries of the start.
 */
async function watchingDeep(root: string, backend: 'inotify' | 'poll') {
  const program = join(import.meta.dirname, 'deep.mjs')
  const args = [root, { backend }].map((value) => JSON.stringify(value))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const answer = async (): Promise<Told> => {
    const { value, done } = await lines.next()
    expect(done, 'the watching process ended').toBeFalsy()
    return JSON.parse(value)
  }
  const start = await answer()
  const told = () => {
    child.stdin.write('\n')
    return answer()
  }
  return { start, told, child }
}

const TOO_DEEP = [expect.objectContaining({ code: 'ENAMETOOLONG', hint: expect.stringContaining('16384') })]

/**
 * Returns if a path of this length is that of the first directory that is not listed; all names in the chain
 * have one byte.
 */
const atTheEdge = (length: number) => length > 16_384 && length <= 16_386

// 6,000 levels left 2 GB behind, 15,000 aborted the process.
const MOST_MIB = 600

describe.skipIf(!isBuilt).each(['inotify', 'poll'] as const)('%s (needs dist)', (backend) => {
  test('6,000 directories in each other, made and removed: all are told, and take what they have to', async () => {
    const root = directoryFor('a')
    const { told } = await watchingDeep(root, backend)
    chain('make', join(root, 'a'), '6000')
    const made = await told()
    expect(made).toMatchObject({ types: { create: 6001 }, errors: [], uncovered: [] })
    chain('remove', join(root, 'a'))
    const removed = await told()
    expect(removed).toMatchObject({ errors: [], uncovered: [] })
    expect(removed.types.delete).toBeGreaterThan(0)
    console.log(`  6,000 levels by ${backend}: ${made.mib} MiB, ${removed.mib} MiB afterwards`)
    expect(removed.mib).toBeLessThan(MOST_MIB)
  })

  test.runIf(isLong)('15,000: those too deep are uncovered, said once, and the rest goes on', async () => {
    const root = directoryFor('a')
    const { told } = await watchingDeep(root, backend)
    chain('make', join(root, 'a'), '15000')
    const made = await told()
    expect(made.errors).toEqual(TOO_DEEP)
    expect(made.uncovered.map(atTheEdge)).toEqual([true])
    mkdirSync(join(root, 'a/sibling'))
    expect(await told()).toMatchObject({ errors: [], short: ['create /a/sibling'] })
    chain('remove', join(root, 'a'))
    const removed = await told()
    expect(removed).toMatchObject({ errors: [], uncovered: [] })
    mkdirSync(join(root, 'sibling'))
    expect(await told()).toMatchObject({ errors: [], short: ['create /sibling'] })
    console.log(`  15,000 levels by ${backend}: ${made.mib} MiB, ${removed.mib} MiB afterwards`)
    expect(removed.mib).toBeLessThan(MOST_MIB)
  })

  test.runIf(isLong)('15,000 that are there at the start, and 15,000 that are moved in', async () => {
    const [root, elsewhere] = [directoryFor('a', 'b'), directoryFor('c')]
    chain('make', join(root, 'a'), '15000')
    chain('make', join(elsewhere, 'c'), '15000')
    const { start, told } = await watchingDeep(root, backend)
    expect(start.errors).toEqual(TOO_DEEP)
    expect(start.uncovered.map(atTheEdge)).toEqual([true])
    chain('extend', join(root, 'b'), join(elsewhere, 'c'))
    const moved = await told()
    expect(moved.errors).toEqual(TOO_DEEP)
    expect(moved.uncovered.map(atTheEdge)).toEqual([true, true])
    mkdirSync(join(root, 'sibling'))
    expect(await told()).toMatchObject({ errors: [], short: ['create /sibling'], uncovered: moved.uncovered })
    expect(moved.mib).toBeLessThan(MOST_MIB)
  })

  test.runIf(isLong)('what renames have put too deep is uncovered at the next change there', async () => {
    const root = directoryFor('a', 'b', 'c')
    for (const name of ['a', 'b', 'c']) chain('make', join(root, name), '8000')
    const { start, told } = await watchingDeep(root, backend)
    expect(start).toMatchObject({ errors: [], uncovered: [] })
    for (const name of ['b', 'c']) chain('extend', join(root, 'a'), join(root, name))
    await told()
    // The next 10 levels lie below the limit, and are not told.
    chain('make', join(root, 'a'), '10')
    expect((await told()).uncovered.map(atTheEdge)).toEqual([true])
    mkdirSync(join(root, 'sibling'))
    expect(await told()).toMatchObject({ errors: [], short: ['create /sibling'] })
    chain('remove', join(root, 'a'))
    expect(await told()).toMatchObject({ errors: [], uncovered: [] })
  })
})

test.runIf(isLong && isBuilt)('15,000 that came while events were lost (needs dist)', async () => {
  const root = directoryFor('a')
  const { told, child } = await watchingDeep(root, 'inotify')
  await stop(child)
  mkdirSync(join(root, 'noisy'))
  for (let i = 0; i < 20_000; i++) writeFileSync(join(root, `${i % 2}`), '')
  chain('make', join(root, 'a'), '15000')
  child.kill('SIGCONT')
  const found = await told()
  expect(found).toMatchObject({ errors: TOO_DEEP, types: { overflow: 1, recovered: 1 } })
  expect(found.uncovered.map(atTheEdge)).toEqual([true])
  mkdirSync(join(root, 'sibling'))
  expect(await told()).toMatchObject({ errors: [], short: ['create /sibling'] })
})
