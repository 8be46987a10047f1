// The walker where a process needs an identity, limits or mounts of its own: runs walk_child.mjs, which uses
// dist.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'

const { EACCES, EBUSY, EINVAL, ENOSPC } = constants.errno
const isBuilt = existsSync(join(import.meta.dirname, '../../out/addon.js'))
const hasBindfs = spawnSync('bindfs', ['--version']).status === 0

/** Runs a scenario behind `before`, a command that executes the rest of its arguments. */
async function run(context: TestContext, scenario: string, before: string[] = [], parent?: string) {
  const program = [process.execPath, join(import.meta.dirname, 'walk_child.mjs'), scenario, scratch(parent)]
  // Preloaded libraries (scripts/sanitizers.mjs) are for node alone: a shell does not run with
  // ThreadSanitizer.
  const { LD_PRELOAD = '', ...env } = process.env
  const [command = '', ...argv] = [...before, 'env', `LD_PRELOAD=${LD_PRELOAD}`, ...program]
  const child = spawn(command, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  const result = JSON.parse(output)
  if (result?.unable !== undefined) context.skip(result.unable)
  return result
}

describe.skipIf(!isBuilt)('in a process of its own (needs dist)', () => {
  test('a directory that may not be read, or not be searched, says so and the rest goes on', async (context) => {
    const refused = { wd: -EACCES, error: -EACCES, entries: [] }
    expect(await run(context, 'unprivileged')).toEqual({
      closed: refused,
      searched: refused,
      listed: { wd: 1, error: 0, entries: ['below (no stat)'] },
      open: { wd: 1, error: 0, entries: ['below'] },
    })
  })

  test('5000 levels, all with siblings that wait, and no more than 256 descriptors', async (context) => {
    const limited = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']
    const { ms, ...seen } = await run(context, 'deep', limited, '/dev/shm')
    console.log(`  15,001 directories at up to 5000 levels: ${ms} ms`)
    expect(seen).toEqual({ limit: 256, directories: 15_001, watched: 15_001, failed: 0 })
  })

  describe.skipIf(!mayUnshare)('and in a namespace of its own (needs unshare -rm)', () => {
    const unshared = ['unshare', '-rm']

    test('watches that the kernel refuses', async (context) => {
      const { watched, refused, failed } = await run(context, 'exhausted', unshared)
      expect({ watched, refused: new Set(refused), failed }).toEqual({
        watched: 10,
        refused: new Set([ENOSPC]),
        failed: 0,
      })
      expect(refused).toHaveLength(20)
    })

    test('changes of the mount table are told once each, and nothing else wakes the loop', async (context) => {
      const { quiet, told, ...codes } = await run(context, 'mounts', unshared)
      expect(codes).toEqual({ opened: 0, again: -EINVAL, reopened: 0 })
      expect(told).toEqual([1, 1, 1])
      for (const { wakeups, cpuMs } of quiet) {
        expect(wakeups).toBeLessThan(10)
        expect(cpuMs).toBeLessThan(100)
      }
    })

    describe.skipIf(!hasBindfs)('with a server that has stopped (needs bindfs)', () => {
      const hung = { began: 0, inWorker: 0, busy: -EBUSY }

      test('close() and the end of a worker do not wait for the mount', async (context) => {
        expect(await run(context, 'stopped', unshared)).toEqual({ ...hung, others: 1 })
      })

      test('nor does the end of the process', async (context) => {
        expect(await run(context, 'stoppedForGood', unshared)).toEqual(hung)
      })
    })

    test('names that the kernel remembers for an hour are looked up anew', async (context) => {
      expect(await run(context, 'remembered', unshared)).toEqual([3, 3, 3, 5, 8, 10, 10])
    })
  })
})
