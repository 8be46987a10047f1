import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keepReadyFile } from '../../src/cli/service/ready_file.ts'
import { type Status, startService } from '../../src/cli/service/service.ts'
import { scratch } from '../support/scratch.ts'

/** A status that says what a test has it say. */
class Said implements Status {
  unready: string | undefined
  onTold?: () => void
  metrics = () => ({})
}

test('one that another has laid does not stay while the command is not ready', () => {
  const ready = join(scratch(), 'ready')
  using file = keepReadyFile(ready, () => false)
  for (let n = 0; n < 3; n++) {
    writeFileSync(ready, 'forged')
    file.check()
    expect(existsSync(ready)).toBe(false)
  }
})

test('nor where nothing has been told yet, for the first pass is not over', async () => {
  const readyFile = join(scratch(), 'ready')
  const status = new Said()
  status.unready = 'the first pass is not over'
  await using _ = await startService('mirror', { readyFile }, status, () => {})
  writeFileSync(readyFile, 'forged')
  await expect.poll(() => existsSync(readyFile), { interval: 20, timeout: 60_000 }).toBe(false)
})

test('the end of a run leaves alone what its successor has put there meanwhile', async () => {
  const readyFile = join(scratch(), 'ready')
  const start = async () => {
    const status = new Said()
    const service = await startService('mirror', { readyFile }, status, () => {})
    status.onTold?.()
    onTestFinished(() => service[Symbol.asyncDispose]())
    return service
  }
  const old = await start()
  await old[Symbol.asyncDispose]()
  await start()
  await old[Symbol.asyncDispose]()
  expect(existsSync(readyFile)).toBe(true)
})

test.skipIf(process.geteuid?.() !== 0)(
  'in a sticky directory nobody keeps it away by a name laid beforehand, nor loses a file of his (needs root)',
  () => {
    const directory = scratch()
    chmodSync(directory, 0o1777)
    const theirs = [`.ready.${process.pid}`, '.ready.0123456789ab']
    for (const name of theirs) writeFileSync(join(directory, name), '')
    process.seteuid?.(65534)
    try {
      using _ = keepReadyFile(join(directory, 'ready'), () => true)
      expect(readdirSync(directory).sort()).toEqual([...theirs, 'ready'].sort())
    } finally {
      process.seteuid?.(0)
    }
  },
)
