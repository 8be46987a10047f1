import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { PATIENCE, program, reloading } from './fixture.ts'

/** Rewrites a file without an end, on a thread of its own; resolves at the first time. Ends by the function that is returned. */
async function rewriting(path: string, how: 'in place' | 'renamed' | 'slowly' | 'large', ms: number) {
  const worker = new Worker(
    `const { appendFileSync, writeFileSync, renameSync } = require('node:fs')
     const { workerData: { path, how, ms }, parentPort } = require('node:worker_threads')
     let n = 0
     let beside = ''
     const size = how === 'large' ? 2_000_000 : 8
     // Under another name each time, and one after another without a pause.
     const writeOn = () => {
       const next = n % 20 === 0 ? path + '.' + Math.random() : beside
       appendFileSync(next, String(n++))
       if (next !== beside && beside !== '') renameSync(beside, path)
       beside = next
       if (n === 21) parentPort.postMessage('')
     }
     setInterval(() => {
       if (how === 'slowly') return writeOn()
       const to = how === 'renamed' ? path + '.' + Math.random() : path
       writeFileSync(to, String(n++).padStart(size))
       if (to !== path) renameSync(to, path)
       if (n === 1) parentPort.postMessage('')
     }, ms)`,
    { eval: true, workerData: { path, how, ms } },
  )
  onTestFinished(() => void worker.terminate())
  await new Promise((resolve) => worker.once('message', resolve))
  return () => worker.terminate()
}

// Varied: how many files there are, which of them is restless, how it is written and how often; where it lies, and when it begins.
test.each([
  { files: 2, restless: 1, how: 'in place', every: 5, begins: 'before' },
  { files: 3, restless: 0, how: 'renamed', every: 5, begins: 'behind' },
  { files: 300, restless: 150, how: 'in place', every: 5, begins: 'before' },
  { files: 5, restless: 4, how: 'large', every: 10, begins: 'behind' },
  { files: 5, restless: 2, how: 'in place', every: 60, begins: 'before', below: true },
  { files: 5, restless: 2, how: 'in place', every: 5, begins: 'behind', linked: true },
  { files: 4, restless: 3, how: 'in place', every: 5, begins: 'behind', validate: 'sleep 0.1' },
  { files: 4, restless: 3, how: 'in place', every: 300, begins: 'behind', validate: 'sleep 0.6' },
  { files: 3, restless: 0, how: 'slowly', every: 3, begins: 'behind' },
] as const)('a file that never rests holds up no other: %o', async (how) => {
  const { files, restless, every, begins } = how
  const [directory, elsewhere] = [scratch(), scratch()]
  if ('below' in how) mkdirSync(join(directory, 'sub'))
  const name = (n: number) => ('below' in how && n === restless ? `sub/f${n}` : `f${n}`)
  const path = (n: number) => join(directory, name(n))
  for (let n = 0; n < files; n++) writeFileSync(path(n), 'one')
  const log = 'linked' in how ? join(elsewhere, 'log') : path(restless)
  if ('linked' in how) {
    writeFileSync(log, '')
    symlinkSync(log, `${path(restless)}~`)
    renameSync(`${path(restless)}~`, path(restless))
  }
  const start = () => rewriting(log, how.how, every)
  let stop = begins === 'before' ? await start() : undefined
  const { told } = await reloading({
    paths: [directory],
    delay: 80,
    retry: 1000,
    ...('validate' in how && { validate: program(how.validate).argv }),
  })
  stop ??= await start()
  const other = (restless + 1) % files
  for (let round = 1; round <= 2; round++) {
    const before = told.reloads.length
    writeFileSync(path(other), `round ${round}`)
    // The interval, after which all counts as it is, is a minute.
    const names = () => told.reloads.slice(before).flatMap(({ changed }) => changed)
    await expect.poll(names, { ...PATIENCE, timeout: 20_000 }).toContain(name(other))
  }
  await stop()
  const changed = () => told.reloads.flatMap((each) => each.changed)
  await expect.poll(changed, PATIENCE).toContain(name(restless))
})

test('a burst that goes on from file to file is one reload still', async () => {
  const directory = scratch()
  const { told } = await reloading({ paths: [directory], delay: 200 })
  for (let n = 0; n < 40; n++) {
    writeFileSync(join(directory, `f${n}`), '')
    await sleep(25)
  }
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  expect(told.reloads[0]?.changed).toHaveLength(40)
})
