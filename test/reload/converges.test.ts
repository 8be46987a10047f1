// Whatever is done to the files, and however long the validation takes: what is there at the end is acted upon, by the events alone.
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { ContentReader } from '../../src/reload/content_reader.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { randomFrom } from '../watch/support.ts'
import { PATIENCE, program, reloading } from './fixture.ts'

const ROUNDS = rounds(process.env.RELOAD_ROUNDS, { quick: 4, long: 24 })

async function change(directory: string, volume: string, below: (most: number) => number, n: number) {
  const path = join(directory, ['a', 'b', 'sub/c'][below(3)] as string)
  const beside = `${path}.${n}`
  const text = `${n}`
  switch (below(7)) {
    case 0:
      return writeFileSync(path, text)
    case 1:
      return appendFileSync(path, text)
    case 2:
      writeFileSync(beside, text)
      return renameSync(beside, path)
    case 3:
      // Slowly, so that it is seen beside the other.
      for (let part = 0; part < 4; part++) {
        appendFileSync(beside, text)
        await sleep(below(15))
      }
      return renameSync(beside, path)
    case 4:
      return rmSync(path, { force: true })
    case 5:
      return await atomicWrite(volume, { k: text, l: text, [`m${below(2)}`]: text })
    default:
      for (let part = 0; part < 20; part++) {
        writeFileSync(path, `${text} ${part}`)
        await sleep(below(10))
      }
  }
}

test.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
  'the last content is acted upon: seed %i',
  async (seed) => {
    const below = randomFrom(seed)
    const directory = scratch()
    const volume = join(directory, 'volume')
    for (const each of ['sub', 'volume']) mkdirSync(join(directory, each))
    await atomicWrite(volume, { k: '0', l: '0' })
    const seconds = [0, 0.02, 0.1, undefined][below(4)]
    const validate = seconds === undefined ? {} : { validate: program(`sleep ${seconds}`).argv }
    const delay = [0, 5, 30, 80][below(4)] as number
    const { told } = await reloading({ paths: [directory], delay, ...validate })
    for (let n = 1; n <= 40; n++) {
      await change(directory, volume, below, n)
      await sleep(below(3) * below(60))
    }
    // Restless until the very end.
    for (const until = Date.now() + 8 * delay + 100; Date.now() < until; await sleep(1))
      writeFileSync(join(directory, 'a'), `${Date.now()}`)
    const calls = new SyscallThread()
    onTestFinished(() => calls.end())
    const { digest } = await new ContentReader(calls, [directory]).read()
    await expect.poll(() => told.reloads.at(-1)?.digest, PATIENCE).toBe(digest)
    expect(told.failures).toEqual([])
  },
)
