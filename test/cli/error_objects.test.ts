// With --json what goes to stderr is an object a line as well, of each subcommand alike: errors, warnings, and what is said besides.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { Run } from './command.ts'

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const objectsIn = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const missing = { code: 'ENOENT', path: '/no/such', hint: expect.any(String), syscall: expect.any(String) }

test.each([
  [['watch', '/no/such'], missing],
  [['watch', '--raw', '/no/such'], missing],
  [['watch', '--fromfile', '/no/such'], missing],
  [['mirror', '/no/such', '/tmp/no'], missing],
  [['mirror', '/no/such', '--in-place', '--', 'true'], { code: 'ENOENT' }],
  [['publish', '/no/such', '/tmp/no'], missing],
  [['publish', '--touch', '/no/such'], missing],
  [['reload', '--once', '/no/such', '--', 'true'], missing],
  [['diagnose', '/no/such'], missing],
])('%j', async ([name = '', ...args], fields) => {
  const { code, stdout, stderr } = await new Run([name, '--json', ...args]).ended()
  expect([code, stdout]).toEqual([1, ''])
  expect(objectsIn(stderr)).toEqual([
    expect.objectContaining({
      time: TIME,
      level: 'error',
      event: 'error',
      command: name,
      message: expect.stringContaining(fields.code),
      ...fields,
    }),
  ])
})

test.each(['watch', 'mirror', 'publish', 'reload', 'diagnose'])('%s: wrong usage', async (command) => {
  const { code, stderr } = await new Run([command, '--json', '--frob']).ended()
  expect(code).toBe(2)
  expect(objectsIn(stderr)).toMatchObject([{ time: TIME, level: 'error', command, code: 'ERR_USAGE' }])
})

test('an error of a mirror that runs has a code, and nothing that was said is text', async () => {
  const [source, target] = [scratch(), scratch()]
  writeFileSync(join(source, 'a'), 'one')
  const run = new Run(['mirror', '--json', '--interval', '20', '--quiet', '0', source, target])
  await run.until('stdout', /mirroring/)
  // Not on a tmpfs, which is a warning.
  expect(objectsIn(run.stderr)[0]).toMatchObject({ level: 'warning', code: 'INOTIFY_BRIDGE_TARGET' })
  mkdirSync(join(target, 'b/c'), { recursive: true })
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
})

test('watch --json: how it watches is said in objects, and changes are on stdout', async () => {
  const directory = scratch()
  const run = await Run.watching(['--json', directory])
  mkdirSync(join(directory, 'd'))
  const { stderr } = await run.ended()
  for (const said of objectsIn(stderr))
    expect(said).toMatchObject({ time: TIME, level: 'info', command: 'watch' })
  expect(run.objects).toMatchObject([{ type: 'create' }])
})
