// inotify-bridge/run: a program as it is, with a handle.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type RunningProgram, type RunOptions, run } from '../../src/entries/run.ts'
import { Program } from '../cli/command.ts'
import { hasInotifywait, mayServeFuse, silentMount } from '../cli/in_place.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { obstacle, stateOf } from './served.ts'

/** A program that ends with the test at the latest. */
function running(command: string, args: string[] = [], options: RunOptions = {}): RunningProgram {
  const program = run(command, args, options)
  onTestFinished(() => void program.kill('SIGKILL'))
  return program
}

/** Prints 'up' and its pid, and sleeps, whatever signal but SIGKILL it gets. */
const STAYS = ['-c', 'trap "" TERM; echo up $$; while :; do sleep 0.05; done']

async function pidOf(program: RunningProgram): Promise<number> {
  const [up] = await once(program.stdout as NodeJS.EventEmitter, 'data')
  return Number(/^up (\d+)\n$/.exec(String(up))?.[1])
}

describe.skipIf(obstacle !== '')(`run()${obstacle && ` (${obstacle})`}`, () => {
  test('is as spawn(): streams, directory, environment, exit code', async () => {
    const place = scratch()
    const script = 'read line; echo "$line $WORD $PWD"; echo complaint >&2; exit 7'
    const program = running('sh', ['-c', script], { cwd: place, env: { WORD: 'word' } })
    expect(program.pid).toBeGreaterThan(0)
    expect([program.exitCode, program.signalCode]).toEqual([null, null])
    program.stdin?.end('line\n')
    const [stdout, stderr, exit] = await Promise.all([
      text(program.stdout as NodeJS.ReadableStream),
      text(program.stderr as NodeJS.ReadableStream),
      once(program, 'exit'),
    ])
    expect([stdout, stderr, exit]).toEqual([`line word ${place}\n`, 'complaint\n', [7, null]])
    expect([program.exitCode, program.signalCode]).toEqual([7, null])
  })

  test('stdio: what is not a pipe is no stream', async () => {
    const program = running('sh', ['-c', 'test ! -e /proc/self/fd/3'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect([program.stdin, program.stderr]).toEqual([null, null])
    expect(program.stdout).not.toBe(null)
    expect(await once(program, 'exit')).toEqual([0, null])
  })

  test("'watch' and coverage(): who watches, and by which source", async () => {
    const load = compile('run_load')
    // A line's end to some, and what JSON escapes.
    const place = join(scratch(), 'a\u2028"\\\n')
    mkdirSync(place)
    for (const [backend, source] of [
      ['poll', 'poll'],
      ['auto', 'inotify'],
    ] as const) {
      const program = running(load, ['held', place, '1'], { backend })
      const [watch] = await once(program, 'watch')
      const pid = expect.any(Number)
      expect(watch).toEqual({ pid, path: place, source, ...(source === 'poll' && { wd: 1 }) })
      expect(program.coverage()).toEqual([{ pid: watch.pid, path: place, source }])
      program.stdin?.end('\n')
      expect(await once(program, 'exit')).toEqual([0, null])
      expect(program.coverage()).toEqual([])
    }
  })

  test('what it leaves behind holds up no exit', async () => {
    const program = running('sh', ['-c', 'sleep 1000 & echo up $!'])
    const pid = await pidOf(program)
    onTestFinished(() => void process.kill(pid, 'SIGKILL'))
    expect(await once(program, 'exit')).toEqual([0, null])
    expect(stateOf(pid)).not.toBe('')
  })

  test('without a descriptor left', async () => {
    const script = `
      const { run } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/run.js'))})
      const fs = await import('node:fs')
      run('true').on('exit', () => {
        const all = []
        try { for (;;) all.push(fs.openSync('/dev/null')) } catch {}
        // Enough to look for the supervisor, and too few for its pipes.
        for (const fd of all.splice(-3)) fs.closeSync(fd)
        const program = run('true').on('error', ({ code }) => {
          for (const fd of all) fs.closeSync(fd)
          console.log(code, program.pid)
        })
      })`
    const shell = [
      '-c',
      'ulimit -n 256; exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    ]
    expect(execFileSync('sh', shell, { encoding: 'utf8' })).toBe('EMFILE undefined\n')
  })

  test('kill(), and of a program that keeps SIGTERM to itself SIGKILL', async () => {
    const program = running('sh', STAYS)
    const pid = await pidOf(program)
    expect(program.kill()).toBe(true)
    expect(stateOf(pid)).not.toBe('')
    expect(program.kill('SIGKILL')).toBe(true)
    expect(await once(program, 'exit')).toEqual([null, 'SIGKILL'])
    expect(stateOf(pid)).toBe('')
    expect(program.kill('SIGKILL')).toBe(false)
    const gentle = running('sh', ['-c', 'echo up $$; exec sleep 1000'])
    await pidOf(gentle)
    gentle.kill('SIGUSR1')
    expect(await once(gentle, 'exit')).toEqual([null, 'SIGUSR1'])
  })

  test('SIGKILL before this process has read which one the program is', async () => {
    const file = join(scratch(), 'pid')
    const program = running('sh', ['-c', `trap "" TERM; echo $$ >${file}; while :; do sleep 0.05; done`])
    const pid = () => existsSync(file) && readFileSync(file, 'utf8').trim()
    while (!pid()) execFileSync('sleep', ['0.01'])
    expect(program.kill('SIGKILL')).toBe(true)
    expect(await once(program, 'exit')).toEqual([null, 'SIGKILL'])
    expect(stateOf(Number(pid()))).toBe('')
    expect(program.kill('SIGKILL')).toBe(false)
  })

  test('a relay that is not there is a warning', async () => {
    const program = running('sleep', ['1000'], { relay: 'unix:/nowhere' })
    expect(await once(program, 'warning')).toEqual([
      'relay unix:/nowhere: ENOENT; until there is a relay, looks at the interval tell of changes: inotify-bridge relay --listen unix:/nowhere DIR',
    ])
    program.kill()
    expect(await once(program, 'exit')).toEqual([null, 'SIGTERM'])
  })

  test('a signal that aborts, before and after', async () => {
    const ending = new AbortController()
    const program = running('sleep', ['1000'], { signal: ending.signal })
    ending.abort()
    expect(await once(program, 'exit')).toEqual([null, 'SIGTERM'])
    const late = running('sleep', ['1000'], { signal: ending.signal })
    expect(await once(late, 'exit')).toEqual([null, 'SIGTERM'])
  })

  test('await using: it has ended behind the block', async () => {
    let pid: number
    {
      await using program = run('sh', ['-c', 'echo up $$; exec sleep 1000'])
      pid = await pidOf(program)
      expect(stateOf(pid)).not.toBe('')
    }
    expect(stateOf(pid)).toBe('')
  })

  test.each([
    ['no-such-program', 127, 'no-such-program: ENOENT: it is not found'],
    ['/etc/passwd', 126, '/etc/passwd: EACCES: it cannot be executed'],
  ])("%s: 'error', and then 'exit'", async (command, code, message) => {
    const program = running(command)
    const [error] = await once(program, 'error')
    expect(error).toMatchObject({ name: 'Error', message })
    expect(await once(program, 'exit')).toEqual([code, null])
    expect(program.stderr?.read() ?? null).toBe(null)
  })

  test("a directory that is not there: 'error' of spawn()", async () => {
    const program = running('true', [], { cwd: join(scratch(), 'none') })
    const [error] = await once(program, 'error')
    expect(error).toMatchObject({ code: 'ENOENT' })
    expect(program.pid).toBe(undefined)
    await program[Symbol.asyncDispose]()
  })

  test('a supervisor within another: one sentence and 1; try: a warning, and it is started', async () => {
    const within = async (options: RunOptions) => {
      const script = `
        const { run } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/run.js'))})
        const said = []
        process.on('warning', ({ code, message }) => said.push(code + ': ' + message))
        const program = run('echo', ['started'], ${JSON.stringify(options)})
        program.on('error', ({ message }) => said.push(message))
        let stdout = ''
        program.stdout.on('data', (text) => { stdout += text })
        program.on('exit', (code) => setImmediate(() => console.log(JSON.stringify({ said, stdout, code }))))`
      const outer = running(process.execPath, ['--input-type=module', '-e', script])
      return json(outer.stdout as NodeJS.ReadableStream)
    }
    const sentence = 'another supervisor has taken the system calls of this container already'
    expect(await within({})).toEqual({ said: [expect.stringContaining(sentence)], stdout: '', code: 1 })
    expect(await within({ try: true })).toEqual({
      said: [expect.stringMatching(`^INOTIFY_BRIDGE_RUN: run: ${sentence}.*; it is started without$`)],
      stdout: 'started\n',
      code: 0,
    })
  })
})

const silent = hasInotifywait && mayServeFuse && mayUnshare && obstacle === ''
test.skipIf(!silent)(
  `on a silent mount a real change is heard${silent ? '' : ' (needs dist, inotify-tools, /dev/fuse and unshare -rm)'}`,
  async () => {
    const { back, front, wrap } = silentMount()
    const script = `
      import { run } from ${JSON.stringify(join(import.meta.dirname, '../../dist/run.js'))}
      const program = run('inotifywait', ['-m', '--format', '%e %f', ${JSON.stringify(front)}], { interval: 20, stdio: ['ignore', 'inherit', 'inherit'] })
      process.on('SIGTERM', () => program.kill())
      program.on('watch', ({ wd, source }) => console.error(wd, source, JSON.stringify(program.coverage())))`
    const [file = '', ...args] = wrap([process.execPath, '--input-type=module', '-e', script])
    const heard = new Program(file, args)
    onTestFinished(async () => {
      heard.kill('SIGTERM')
      await heard.ended()
    })
    await heard.until('stderr', /Watches established/)
    await heard.until('stderr', /^1 poll \[\{"pid":\d+,"path":"\/.*","source":"poll"\}\]$/m)
    writeFileSync(join(back, 'new'), 'text')
    await heard.until('stdout', /^CREATE new\nMODIFY new\nCLOSE_WRITE,CLOSE new\n/m)
  },
)

test.each([
  [{ interval: 0 }, 'options.interval must be a number of ms from 1'],
  [{ interval: 1.5 }, 'options.interval must be an integer of ms from 1 to 86400000'],
  [{ interval: 86_400_001 }, 'options.interval must be an integer of ms from 1 to 86400000'],
  [{ backend: 'fanotify' }, "options.backend must be 'auto', 'inotify' or 'poll'; got 'fanotify'"],
  [{ relay: 'nowhere' }, "options.relay must be 'unix:PATH', or 'tcp:HOST:PORT'"],
  [{ relay: 'tcp:host:1' }, "options.relay must be 'tcp:HOST:PORT' with an IPv4 address"],
  [{ relay: 'tcp:[::1]:1' }, "options.relay must be 'tcp:HOST:PORT' with an IPv4 address"],
  [{ relay: 'unix:/r', backend: 'inotify' }, "options.relay must be left out with backend: 'inotify'"],
  [{ onFailure: 'no' }, "options.onFailure must be 'end' or 'continue'; got 'no'"],
  [{ try: 1 }, 'options.try must be true or false; got 1'],
  [{ signal: {} }, 'options.signal must be an AbortSignal'],
  [{ stdio: 5 }, 'options.stdio must be'],
  [{ env: { INOTIFY_BRIDGE_INTERVAL: 'x' } }, 'INOTIFY_BRIDGE_INTERVAL must be a number of ms'],
  [{ env: { INOTIFY_BRIDGE_BACKEND: 'x' } }, "INOTIFY_BRIDGE_BACKEND must be 'auto', 'inotify' or 'poll'"],
  [{ all: true }, "options.all is no option (here: backend: 'poll')"],
])('%j is a TypeError', (options, message) => {
  expect(() => run('true', [], options as RunOptions)).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringContaining(message),
    }),
  )
})

test.each([
  ['', [], 'command must be a string, not empty and without a NUL byte'],
  ['true', 'x', 'args must be an array of strings'],
  ['true', [5], 'args must be strings without NUL bytes; got 5'],
])('%j %j is a TypeError', (command, args, message) => {
  expect(() => run(command, args as unknown as string[])).toThrow(message)
})
