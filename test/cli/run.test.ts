import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { NOTHING, Run } from './command.ts'

const established = /Watches established/

test('watch ends after the first changes, and prints them as inotifywait does', async () => {
  const directory = scratch()
  const run = new Run(['watch', directory])
  await run.until('stderr', established)
  mkdirSync(join(directory, 'd'))
  const { code, stdout } = await run.ended()
  expect(stdout).toBe(`${directory}/ CREATE,ISDIR d\n`)
  expect(code).toBe(0)
})

test.each(['inotify', 'poll'])(
  'watch -m --backend %s goes on; SIGINT ends it with exit code 0',
  async (backend) => {
    const directory = scratch()
    writeFileSync(join(directory, 'a'), '')
    const run = new Run(['watch', '-m', '--backend', backend, '--interval', '20', directory])
    await run.until('stderr', established)
    renameSync(join(directory, 'a'), join(directory, 'b\n'))
    await run.until('stdout', /MOVED_FROM a\n.*MOVED_TO b\\n\n/)
    writeFileSync(join(directory, 'c'), 'x')
    await run.until('stdout', /CREATE c\n/)
    run.kill('SIGINT')
    expect(await run.ended()).toMatchObject({ code: 0, signal: null })
  },
)

test('watch -e prints these alone; SIGTERM ends it with exit code 0', async () => {
  const directory = scratch()
  const run = new Run(['watch', '-m', '-q', '-e', 'moved_to,DELETE', directory])
  // -q says nothing when the watches are established: the first change seen says it.
  const prod = setInterval(() => {
    writeFileSync(join(directory, 'x'), '')
    renameSync(join(directory, 'x'), join(directory, 'y'))
  }, 20)
  await run.until('stdout', /MOVED_TO y/).finally(() => clearInterval(prod))
  run.kill('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  expect(stdout).not.toMatch(/CREATE|CLOSE_WRITE/)
  expect([code, stderr]).toEqual([0, ''])
})

test('watch --json prints a Change a line', async () => {
  const directory = scratch()
  const run = new Run(['watch', '--json', directory])
  await run.until('stderr', established)
  mkdirSync(join(directory, 'd'))
  await run.ended()
  expect(run.objects).toEqual([
    { type: 'create', path: join(directory, 'd'), kind: 'directory', mask: 0x4000_0100, source: 'inotify' },
  ])
})

test('watch --raw prints the kernel records, of files too', async () => {
  const file = join(scratch(), 'f')
  writeFileSync(file, '')
  const run = new Run(['watch', '--raw', '--json', '-e', 'open', file])
  await run.until('stderr', /established/)
  readFileSync(file)
  await run.ended()
  expect(run.objects).toEqual([{ wd: 1, mask: 0x20, cookie: 0, name: '', events: 'IN_OPEN', path: file }])
})

test('mirror --json tells what it does until SIGTERM, and leaves the copy', async () => {
  const [source, target] = [scratch(), scratch('/dev/shm')]
  writeFileSync(join(source, 'a'), 'one')
  const run = new Run(['mirror', '--json', '--interval', '20', '--quiet', '0', source, target])
  await run.until('stdout', /mirroring/)
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('one')
  writeFileSync(join(source, 'a'), 'two!')
  await run.until('stdout', /"update"/)
  run.kill('SIGTERM')
  expect(await run.ended()).toMatchObject({ code: 0, signal: null, stderr: NOTHING })
  expect(run.objects).toMatchObject([
    { event: 'state', state: 'mirroring' },
    { event: 'update', changed: ['a'] },
  ])
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('two!')
})

test('mirror --once copies and ends', async () => {
  const [source, target] = [scratch(), join(scratch('/dev/shm'), 'new')]
  writeFileSync(join(source, 'a'), 'one')
  const { code, stderr } = await new Run(['mirror', '--once', '--quiet', '0', source, target]).ended()
  expect([code, stderr]).toEqual([0, ''])
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('one')
})

test('diagnose says type, verdict, backend and why; --json the whole', async () => {
  const { code, stdout } = await new Run(['diagnose', '/proc']).ended()
  expect(code).toBe(0)
  for (const words of [/mount +proc at \/proc/, /local +.*lost/, /backend +poll/, /why +/])
    expect(stdout).toMatch(words)

  const run = new Run(['diagnose', '--json', '/proc', '/proc/sys'])
  expect((await run.ended()).code).toBe(0)
  expect(run.objects).toMatchObject([
    { path: '/proc', mount: { type: 'proc' }, local: 'lost', backend: 'poll' },
    { path: '/proc/sys', mount: { type: 'proc' } },
    { outcome: 'rename', from: { path: '/proc' }, to: { path: '/proc/sys' } },
  ])
})

test('a reader that has seen enough ends the command quietly', async () => {
  const directory = scratch()
  const run = new Run(['watch', '-m', directory])
  await run.until('stderr', established)
  run.closeStdout()
  writeFileSync(join(directory, 'a'), '')
  expect(await run.ended()).toMatchObject({ code: 0, signal: null })
})
