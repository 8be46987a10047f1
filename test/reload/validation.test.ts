import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { PATIENCE, processesWith, program, reloading, zombies } from './fixture.ts'

/** Seconds that no other run of these tests sleeps for: by them its processes are known. */
const LONG = `7071.${process.pid}`

function file(text = 'good 1') {
  const directory = scratch()
  const path = join(directory, 'app.yaml')
  writeFileSync(path, text)
  return { directory, path }
}

test('an invalid config never reaches the action, is tried again on its schedule, and is said', async () => {
  const { path } = file()
  const { argv, runs } = program()
  const validate = ['grep', 'good', path]
  const { reloader, told } = await reloading({
    paths: [path],
    validate,
    retry: 30,
    action: { command: argv },
  })
  writeFileSync(path, 'bad')
  await expect.poll(() => told.failures.length, PATIENCE).toBeGreaterThan(2)
  expect(told.failures[0]).toEqual({ stage: 'validate', reason: "'grep': exit code 1", output: '' })
  expect(reloader.failing).toEqual(told.failures[0])
  writeFileSync(path, 'good 2')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  expect([runs().length, reloader.failing]).toEqual([1, undefined])
})

test('events that change nothing do not have it tried sooner, trigger() does', async () => {
  const { directory, path } = file()
  const { reloader, told } = await reloading({ paths: [directory], validate: ['false'] })
  writeFileSync(path, 'bad')
  await expect.poll(() => told.failures, PATIENCE).toHaveLength(1)
  for (let n = 0; n < 3; n++) {
    const looked = once(reloader, 'look')
    writeFileSync(path, 'bad')
    await looked
  }
  expect(told.failures).toHaveLength(1)
  await reloader.trigger()
  expect(told.failures).toHaveLength(2)
})

test('back to the last good content, which was in use all the time: the failure is over, and nothing is done', async () => {
  const { path } = file()
  const { argv, runs } = program()
  const { reloader, told } = await reloading({
    paths: [path],
    validate: ['grep', 'good', path],
    action: { command: argv },
  })
  writeFileSync(path, 'bad')
  await reloader.trigger()
  writeFileSync(path, 'good 1')
  await expect.poll(() => told.events, PATIENCE).toEqual(['failed', 'recovered'])
  expect([runs(), reloader.failing]).toEqual([[], undefined])
  await reloader.trigger()
  expect(told.events).toHaveLength(2)
})

test('what changes while it is validated is validated again before anything is done', async () => {
  const { path } = file()
  const { argv, runs } = program()
  // The first validation has found the content good when it is replaced.
  const validate = [
    'sh',
    '-c',
    'grep good "$1" && { test -e "$1.once" || { touch "$1.once"; echo bad >"$1"; }; }',
    '',
    path,
  ]
  const { told } = await reloading({ paths: [path], validate, action: { command: argv } })
  writeFileSync(path, 'good 2')
  await expect.poll(() => told.failures, PATIENCE).toMatchObject([{ stage: 'validate' }])
  expect(runs()).toEqual([])
})

test('a program that is not there, or cannot be executed, is said with what to do', async () => {
  const { directory, path } = file()
  writeFileSync(path, 'x', { mode: 0o644 })
  for (const [argv, words] of [
    [['/no/such/program'], /'\/no\/such\/program': ENOENT: there is no such program/],
    [[path], /EACCES: it cannot be executed/],
    [['no\x1b[31msuch'], /'no\\x1b\[31msuch': ENOENT/],
  ] as const) {
    const { reloader, told } = await reloading({ paths: [directory], validate: [...argv] })
    writeFileSync(join(directory, 'other'), String(argv))
    await reloader.trigger()
    expect(told.failures).toEqual([{ stage: 'validate', reason: expect.stringMatching(words), output: '' }])
    await reloader.close()
  }
})

test('of what it writes, the last 64 KiB are told', async () => {
  const { path } = file()
  const script = 'yes 0123456789abcde | head -c 300000; echo the end >&2; exit 7'
  const { reloader, told } = await reloading({ paths: [path], validate: ['sh', '-c', script] })
  writeFileSync(path, 'two')
  await reloader.trigger()
  const [{ reason = '', output = '' } = {}] = told.failures
  expect(reason).toBe("'sh': exit code 7")
  expect(output.length).toBe(64 * 1024)
  expect(output).toContain('the end')
})

test.each([
  ['SIGTERM', `sleep ${LONG} & sleep ${LONG}`],
  [
    'SIGTERM and SIGKILL',
    `trap '' TERM; sleep ${LONG} & sh -c 'trap "" TERM; while :; do sleep ${LONG}; done' & wait; wait`,
  ],
])('one that takes too long is killed by %s, with all of its group', async (how, script) => {
  const { path } = file()
  const { reloader, told } = await reloading({
    paths: [path],
    timeout: 300,
    action: { command: ['sh', '-c', script] },
  })
  writeFileSync(path, 'two')
  await reloader.trigger()
  expect(told.failures).toEqual([
    {
      stage: 'action',
      reason: `'sh' timed out after 300 ms: its process group was killed by ${how}`,
      output: '',
    },
  ])
  expect(processesWith(LONG)).toEqual([])
  expect(zombies()).toEqual([])
})

test('what has ended while nobody could look was not killed by SIGKILL', async () => {
  const { path } = file()
  const { reloader, told } = await reloading({
    paths: [path],
    timeout: 300,
    action: { command: ['sh', '-c', `trap 'touch "${path}-told"; exit 0' TERM; sleep ${LONG} & wait`] },
  })
  writeFileSync(path, 'two')
  const blocking = setInterval(() => {
    if (!existsSync(`${path}-told`)) return
    clearInterval(blocking)
    // Longer than the grace.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)
  }, 1)
  await reloader.trigger()
  expect(told.failures.map(({ reason }) => reason)).toEqual([
    "'sh' timed out after 300 ms: its process group was killed by SIGTERM",
  ])
})

test('what a command leaves behind does not hold it up by the output that it has open', async () => {
  const { path } = file()
  const marker = join(scratch(), 'marker')
  const script = `(while ! test -e '${marker}'; do sleep 0.05; done) & echo started`
  const { reloader, told } = await reloading({ paths: [path], action: { command: ['sh', '-c', script] } })
  writeFileSync(path, 'two')
  await reloader.trigger()
  expect(told.events).toEqual(['reload'])
  // And one that it has forked, before that is `sleep`.
  expect(processesWith(marker)).not.toEqual([])
  writeFileSync(marker, '')
  await expect.poll(() => processesWith(marker), PATIENCE).toEqual([])
})

test('close() during a validation ends it, and nothing is told of it', async () => {
  const { path } = file()
  const { reloader, told } = await reloading({
    paths: [path],
    validate: ['sh', '-c', `sleep ${LONG} & sleep ${LONG}`],
  })
  const begun = once(reloader, 'child')
  writeFileSync(path, 'two')
  await begun
  await expect.poll(() => processesWith(LONG).length, PATIENCE).toBe(3)
  await reloader.close()
  expect(told.events).toEqual(['close'])
  expect([processesWith(LONG), zombies()]).toEqual([[], []])
})

test('names with spaces, newlines, dashes and $(x) are names', async () => {
  const directory = scratch()
  const names = ['a b', 'c\nd', '-rf', '$(touch x)', '\x1b[31m', "'"]
  const { argv, runs } = program()
  const { reloader, told } = await reloading({
    paths: [directory],
    validate: ['ls', '--', directory],
    action: { command: [...argv, '$(touch x)'] },
  })
  for (const name of names) writeFileSync(join(directory, name), '')
  await reloader.trigger()
  expect(told.reloads[0]?.changed).toEqual([...names].sort())
  expect(runs()).toEqual(['$(touch x)'])
  expect(existsSync('x')).toBe(false)
  // A name that is no UTF-8 is a name as well.
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x61])]), '')
  await reloader.trigger()
  expect(told.reloads[1]?.changed).toEqual(['\ufffda'])
  rmSync(directory, { recursive: true })
})
