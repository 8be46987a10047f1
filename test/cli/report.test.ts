// How much of what others write gets into the log, and what becomes of the command when nobody reads it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { scratch } from '../support/scratch.ts'
import { Run } from './command.ts'

const NAMES = Array.from({ length: 30 }, (_, n) => `key${String(n).padStart(2, '0')}`)
const SHOWN = `${NAMES.slice(0, 20).join(' ')} and 10 more`

test('reload: of changed keys the first 20 are named; an object has them all', async () => {
  const directory = scratch()
  for (const name of NAMES) writeFileSync(join(directory, name), '')
  const { stdout } = await new Run(['reload', '--once', directory, '--', 'true']).ended()
  expect(stdout).toMatch(new RegExp(`^reload [0-9a-f]{12}: ${SHOWN}\n$`))
  const json = new Run(['reload', '--once', '--json', directory, '--', 'true'])
  await json.ended()
  expect(json.objects[0]?.changed).toEqual(NAMES)
})

test('mirror: so as well', async () => {
  const [source, target] = [scratch(), scratch('/dev/shm')]
  const keys = (content: string) => Object.fromEntries(NAMES.map((name) => [name, content]))
  // All of them from the beginning: the links of new keys are made one by one, behind the swap.
  await atomicWrite(source, keys(''))
  const runs = [[], ['--json']].map(
    (flags, n) => new Run(['mirror', '--interval', '20', ...flags, source, join(target, `${n}`)]),
  )
  for (const run of runs) await run.until('stdout', /mirroring.*\n/)
  await atomicWrite(source, keys('new'))
  const [text, json] = runs as [Run, Run]
  await text.until('stdout', new RegExp(`^update 2: ${SHOWN}$`, 'm'))
  await json.until('stdout', /"key29".*\n/)
  expect(json.objects.at(-1)?.changed).toEqual(NAMES)
})

test('of what a failed action wrote the last 100 lines are told', async () => {
  const path = join(scratch(), 'a')
  writeFileSync(path, '')
  const { stderr } = await new Run(['reload', '--once', path, '--', 'sh', '-c', 'seq 1 5000; exit 1']).ended()
  const lines = stderr.split('\n').slice(0, -1)
  expect(lines).toHaveLength(102)
  expect(lines[1]).toBe('inotify-bridge reload: | (4900 lines before these)')
  expect(lines.at(-1)).toBe('inotify-bridge reload: | 5000')
})

test('nobody reads the log any more: the work goes on', async () => {
  const directory = scratch()
  const [path, log] = [join(directory, 'a'), join(scratch(), 'log')]
  writeFileSync(path, 'one')
  const action = ['--', 'sh', '-c', `echo >>'${log}'; exit 1`]
  const run = new Run(['reload', '--delay', '10', '--retry', '10', path, ...action])
  await run.until('stdout', /ready/)
  run.closeStderr()
  writeFileSync(path, 'two')
  const tries = () => (existsSync(log) ? readFileSync(log, 'utf8').length : 0)
  await expect.poll(tries, { timeout: 60_000, interval: 5 }).toBeGreaterThan(4)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
})
