// Shows what a command prints, and starts a command that goes on anew at each change.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'
import { childrenOf, mayBeProcess1, Process1 } from './pid_namespace.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }
const FAST = ['reload', '--delay', '20']

function file() {
  const directory = join(scratch(), 'src')
  mkdirSync(directory)
  const path = join(directory, 'server.js')
  writeFileSync(path, 'one')
  return { directory, path }
}

const isAlive = (pid: string | undefined) => existsSync(`/proc/${pid}/exe`)

describe('what the command prints', () => {
  test('is on the stream that it is printed to, before it is said to be done', async () => {
    const { directory, path } = file()
    const run = new Run([...FAST, directory, '--', 'sh', '-c', 'echo RELOADED; echo oh >&2'])
    await run.until('stdout', /ready/)
    writeFileSync(path, 'two')
    await run.until('stdout', /RELOADED\nreload .*\n/)
    await run.until('stderr', /^oh\n$/)
  })

  test('comes while it runs, all of it, and as it is', async () => {
    const { directory } = file()
    const script = 'head -c 300000 /dev/zero | tr "\\0" x; printf "\\n\\033[1mbold\\n"; read wait <"$0"'
    const fifo = scratch()
    const gate = join(fifo, 'gate')
    const run = new Run(['reload', '--once', directory, '--', 'sh', '-c', `mkfifo "$0"; ${script}`, gate])
    await run.until('stdout', /^x{300000}\n\x1b\[1mbold\n$/)
    writeFileSync(gate, 'go\n')
    expect((await run.ended()).code).toBe(0)
  })

  test('with --json is objects, and a character that is cut is whole', async () => {
    const { directory } = file()
    const script = 'printf "a\\303"; sleep 0.1; printf "\\251\\n"; echo oh >&2'
    const run = new Run(['reload', '--once', '--json', directory, '--', 'sh', '-c', script])
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
    const said = (name: string) =>
      run.objects
        .filter(({ event, stream }) => event === 'output' && stream === name)
        .map(({ text }) => text)
        .join('')
    expect([said('stdout'), said('stderr')]).toEqual(['aé\n', 'oh\n'])
    expect(run.objects.at(-1)).toMatchObject({ event: 'reload' })
  })

  test('of a validation is kept for its failure', async () => {
    const { directory } = file()
    const validate = ['--validate', 'sh', '--validate-arg=-c', '--validate-arg', 'echo fine']
    expect(await new Run(['reload', '--once', ...validate, directory, '--', 'true']).ended()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^reload .*\n$/),
      stderr: '',
    })
  })

  test('is not waited for where nobody reads it any more', async () => {
    const { directory, path } = file()
    const copy = join(scratch(), 'copy')
    const script = 'head -c 1000000 /dev/zero; cp "$0" "$1"'
    const run = new Run([...FAST, directory, '--', 'sh', '-c', script, path, copy])
    await run.until('stdout', /ready/)
    run.closeStdout()
    for (const text of ['two', 'three']) {
      writeFileSync(path, text)
      await expect.poll(() => existsSync(copy) && readFileSync(copy, 'utf8'), PATIENCE).toBe(text)
    }
    run.kill('SIGTERM')
    expect((await run.ended()).code).toBe(0)
  })
})

/** Says its pid, and that of its child, and goes on. */
const SERVER = 'sleep 4711 & echo "up $$ $!"; trap "echo down $$; exit" TERM; wait; wait'
/** One that takes no SIGTERM. */
const STUBBORN = 'trap "" TERM; sleep 4712 & echo "up $$ $!"; wait; wait'

/** The program is in a process group of its own, and would outlive a run that is killed. */
async function end(run: Run): Promise<void> {
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
}

const pids = (run: { stdout: string }) =>
  [...run.stdout.matchAll(/up (\d+) (\d+)/g)].map(([, ...both]) => both)

describe('--restart', () => {
  test.each([
    ['a server', SERVER, 'SIGTERM'],
    ['a server', SERVER, 'SIGINT'],
    ['one that takes no SIGTERM', STUBBORN, 'SIGHUP'],
  ] as const)(
    '%s: started at once, ended with all it started and begun anew at each change (%s, %s)',
    async (_, script, signal) => {
      const { directory, path } = file()
      const run = new Run([...FAST, '--timeout', '1', '--restart', directory, '--', 'sh', '-c', script])
      for (const n of [1, 2, 3]) {
        await expect.poll(() => pids(run).length, PATIENCE).toBe(n)
        // All processes of earlier commands are gone when the next command begins.
        for (const pid of pids(run).slice(0, -1).flat()) expect(isAlive(pid)).toBe(false)
        for (const pid of pids(run).at(-1) ?? []) expect(isAlive(pid)).toBe(true)
        if (n < 3) writeFileSync(path, `change ${n}`)
      }
      run.kill(signal)
      expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
      for (const pid of pids(run).flat()) expect(isAlive(pid)).toBe(false)
    },
  )

  test.each([0, 1, 5, 20])('two signals %i ms apart, as timeout(1) sends them, are one', async (ms) => {
    const { directory } = file()
    const run = new Run([...FAST, '--restart', directory, '--', 'sh', '-c', SERVER])
    await expect.poll(() => pids(run).length, PATIENCE).toBe(1)
    run.kill('SIGTERM')
    await setTimeout(ms)
    run.kill('SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
    for (const pid of pids(run).flat()) expect(isAlive(pid)).toBe(false)
  })

  test('one that ends by itself: said, with what it left behind, and begun at the next change', async () => {
    const { directory, path } = file()
    const run = new Run([
      ...FAST,
      '--restart',
      directory,
      '--',
      'sh',
      '-c',
      'sleep 4713 & echo "up $$ $!"; exit 3',
    ])
    await run.until(
      'stderr',
      /^inotify-bridge reload: 'sh' has ended \(exit code 3\), and is started again at the next change\n$/,
    )
    await expect.poll(() => pids(run).flat().some(isAlive), PATIENCE).toBe(false)
    writeFileSync(path, 'two')
    await expect.poll(() => pids(run).length, PATIENCE).toBe(2)
    await end(run)
  })

  test('content that is not good leaves the one that runs', async () => {
    const { directory, path } = file()
    const validate = [
      '--validate',
      'grep',
      '--validate-arg=-q',
      '--validate-arg=[a-z]',
      '--validate-arg',
      path,
    ]
    const run = new Run([...FAST, ...validate, '--restart', directory, '--', 'sh', '-c', SERVER])
    await expect.poll(() => pids(run).length, PATIENCE).toBe(1)
    writeFileSync(path, '123')
    await run.until('stderr', /validate failed/)
    expect(pids(run).flat().every(isAlive)).toBe(true)
    writeFileSync(path, 'good')
    await expect.poll(() => pids(run).length, PATIENCE).toBe(2)
    await end(run)
  })

  test('one that cannot be started is tried again', async () => {
    const { directory } = file()
    const program = join(scratch(), 'program')
    const run = new Run([...FAST, '--retry', '20', '--restart', directory, '--', program])
    await run.until('stderr', /action failed: .*ENOENT/)
    writeFileSync(program, `#!/bin/sh\n${SERVER}\n`, { mode: 0o755 })
    await expect.poll(() => pids(run).length, PATIENCE).toBe(1)
    await end(run)
  })

  test.skipIf(!mayBeProcess1)('as process 1 it leaves no zombie (needs unshare)', async () => {
    const { directory, path } = file()
    const script = '(sh -c "exit 0" &); echo "up $$ 0"; exec sleep 4714'
    const run = new Process1([
      process.execPath,
      MAIN,
      ...FAST,
      '--restart',
      directory,
      '--',
      'sh',
      '-c',
      script,
    ])
    for (let n = 1; n <= 5; n++) {
      await expect.poll(() => pids(run).length, PATIENCE).toBe(n)
      writeFileSync(path, `change ${n}`)
    }
    await expect.poll(() => pids(run).length, PATIENCE).toBe(6)
    const pid = await run.outerPid()
    await expect.poll(() => childrenOf(pid).length, PATIENCE).toBe(1)
    process.kill(pid, 'SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    [['--restart', '/tmp', '--signal', 'HUP', '--pid', '1'], '--restart needs -- COMMAND'],
    [['--restart', '--once', '/tmp', '--', 'true'], '--restart does not go with --once'],
  ])('%j: %s', async (args, words) => {
    const { code, stderr } = await new Run(['reload', ...args]).ended()
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })
})
