// The supervisor of `run` leaks nothing, hangs nobody and leaves nothing behind, whatever the program does and whoever is killed.
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'

import { compile } from '../support/compile.ts'
import { isLong, rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import {
  as,
  forAll,
  grounds,
  isRoot,
  load,
  needed,
  obstacle,
  RUN,
  Served,
  served,
  stateOf,
} from './served.ts'

/** The kernel stops no process by SIGTSTP whose group nobody controls: POSIX calls that an orphaned process group. */
const isOrphaned =
  spawnSync('sh', ['-c', 'kill -TSTP $$; echo went on'], { timeout: 500, killSignal: 'SIGKILL' }).status === 0
const aJob = isOrphaned ? ' (needs a process group that a shell controls)' : ''

describe.skipIf(obstacle !== '')(`run${obstacle && ` (${obstacle})`}`, () => {
  test('10,000 watches that are added and removed leave no descriptor and no shadow', async () => {
    const program = load('cycles', scratch(), 10_000)
    await program.line('ready')
    // The supervisor keeps its own descriptors and the instance, and none for a watch.
    await expect.poll(() => program.descriptors()).toBeLessThan(15)
    expect(await program.end()).toBe(0)
    expect(grounds(program.pid)).toEqual([])
  })

  // A user of its own: all processes of a user share the number of instances.
  test.skipIf(!isRoot).each([['--all'], ['--json']])(
    `more instances are opened and closed than a user may have (%s)${needed}`,
    async (option) => {
      const { place, run, load } = forAll()
      const program = new Served([...as(61_002), run, option, '--', load, 'instances', place, '300'])
      await program.line('ready')
      expect(await program.end()).toBe(0)
    },
  )

  test.each([['--all'], ['--try']])(
    'closed instances are given back within some seconds (%s)',
    async (option) => {
      const program = served([option], compile('run_load'), 'held', scratch(), '20')
      await program.line('ready')
      const held = program.descriptors()
      expect(held).toBeGreaterThan(20)
      program.child.stdin.write('\n')
      await program.line('closed')
      await expect.poll(() => program.descriptors(), { timeout: 15_000 }).toBeLessThan(held - 19)
      expect(await program.end()).toBe(0)
    },
  )

  test('of many watches each tells, by whichever instance', async () => {
    // Each takes a descriptor of the supervisor's.
    const most =
      Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' })) || Number.POSITIVE_INFINITY
    const count = Math.min(isLong ? 50_000 : 5000, Math.floor((most - 1000) / 2) * 2)
    const place = scratch('/dev/shm')
    for (let i = 0; i < count; i++) mkdirSync(join(place, String(i)))
    const program = served(['--all'], compile('run_load'), 'watches', place, String(count), '3')
    await program.line('ready')
    for (const number of [0, 1, 2, count / 2, count - 1]) writeFileSync(join(place, `${number}/new`), '')
    for (const number of [0, 1, 2, count / 2, count - 1]) await program.line(`${number} new`)
    // Nothing twice.
    expect(program.lines).toHaveLength(6)
    expect(await program.end()).toBe(0)
    expect(grounds(program.pid)).toEqual([])
  })

  test.skipIf(!isRoot)(`200 processes each hear${needed}`, async () => {
    const { place, run, load } = forAll()
    // A user may have 128 instances.
    const argv = [run, '--all', '--', load, 'processes', place, '100']
    const all = [61_000, 61_001].map((user) => new Served([...as(user), ...argv]))
    for (const each of all) await each.line('ready')
    writeFileSync(join(place, 'new'), '')
    for (const each of all) {
      expect(await each.end()).toBe(0)
      expect(each.lines.filter((line) => line === 'new')).toHaveLength(100)
    }
  })

  test('whoever is killed, at any moment: nobody is left, and the next start removes what was', async () => {
    const place = scratch()
    const pids: number[] = []
    for (let i = 0; i < rounds(process.env.ROUNDS, { quick: 10, long: 20 }); i++) {
      const program = load('storm', place, 3)
      await program.line('ready')
      await sleep(Math.random() * 100)
      const victim = i % 2 === 0 ? program.pid : program.program
      const others = [program.program, program.pid]
      process.kill(victim, 'SIGKILL')
      expect(await program.ended).toBe('SIGKILL')
      for (const pid of others) await expect.poll(() => stateOf(pid)).toBe('')
      pids.push(program.pid)
    }
    expect(await served(['--all'], 'true').end()).toBe(0)
    // Another test's start may be at it, and this one has left that alone.
    await expect.poll(() => pids.flatMap(grounds)).toEqual([])
  })

  test('several that start at a time do not take each other for left', async () => {
    const all = Array.from({ length: 20 }, () => served(['--all'], 'sh', '-c', 'read x; exit 3'))
    for (const each of all) await expect.poll(() => each.program).toBeGreaterThan(0)
    for (const each of all) expect(grounds(each.pid)).toHaveLength(1)
    expect(await Promise.all(all.map((each) => each.end()))).toEqual(all.map(() => 3))
  })
})

describe.skipIf(obstacle !== '')(`a process under run${obstacle && ` (${obstacle})`}`, () => {
  test('its exit code and its signal are those of run', async () => {
    expect(await served([], 'sh', '-c', 'exit 42').end()).toBe(42)
    for (const signal of ['KILL', 'TERM', 'SEGV', 'HUP', 'USR1'])
      expect(await served([], 'sh', '-c', `kill -${signal} $$`).end()).toBe(`SIG${signal}`)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2', 'SIGWINCH'] as const)(
    '%s is passed on',
    async (signal) => {
      const program = served(
        [],
        'sh',
        '-c',
        `trap 'exit 9' ${signal.slice(3)}; echo ready; while :; do sleep 0.01; done`,
      )
      await program.line('ready')
      program.child.kill(signal)
      expect(await program.ended).toBe(9)
    },
  )

  test.skipIf(isOrphaned)(
    `a program that is stopped as a job stops run, and goes on with that${aJob}`,
    async () => {
      const program = served([], 'sh', '-c', 'echo ready; kill -TSTP $$; echo on; read x; exit 4')
      await program.line('ready')
      await expect.poll(() => stateOf(program.pid)).toBe('T')
      program.child.kill('SIGCONT')
      await program.line('on')
      expect(await program.end()).toBe(4)
    },
  )

  test('a program that somebody stops and lets go on is served', async () => {
    const program = served([], 'sh', '-c', 'echo ready; kill -STOP $$; echo on; read x; exit 4')
    await program.line('ready')
    await expect.poll(() => stateOf(program.program)).toBe('T')
    process.kill(program.program, 'SIGCONT')
    await program.line('on')
    expect(await program.end()).toBe(4)
  })

  test('its signals are as run got them: SIGCHLD that is ignored too', async () => {
    const ignored = ['sh', '-c', 'trap "" CHLD USR1; exec "$@"', 'sh']
    const shown = ['grep', '-E', 'SigBlk|SigIgn', '/proc/self/status']
    const plain = execFileSync(ignored[0] ?? '', [...ignored.slice(1), ...shown], { encoding: 'utf8' })
    const program = new Served([...ignored, RUN, '--', ...shown])
    expect(await program.end()).toBe(0)
    expect(`${program.lines.join('\n')}\n`).toBe(plain)
  })

  test('nobody reads what run says: the program stays', async () => {
    const place = scratch()
    const script = 'exec 2>&-; echo ready; read x; "$0" cycles "$1" 5 && exit 6'
    const program = served(['--all', '--verbose'], 'sh', '-c', script, compile('run_load'), place)
    await program.line('ready')
    program.child.stderr.destroy()
    program.child.stdin.write('\n\n')
    expect(await program.end()).toBe(6)
  })

  test('a program that leaves a process behind ends at once, and that goes on being served', async () => {
    const place = scratch()
    const [fifo, out] = [join(place, 'fifo'), join(place, 'out')]
    mkdirSync(join(place, '0'))
    execFileSync('mkfifo', [fifo])
    // Opened so, the FIFO waits for nobody.
    const script = '"$0" watches "$1" 1 > "$1/out" 2>&1 <> "$1/fifo" & exit 5'
    const program = served(['--all', '--interval', '20'], 'sh', '-c', script, compile('run_load'), place)
    expect(await program.ended).toBe(5)
    const said = () => readFileSync(out, 'utf8')
    const input = openSync(fifo, 'r+')
    try {
      await expect.poll(said, { timeout: 10_000 }).toBe('ready\n')
      writeFileSync(join(place, '0/new'), '')
      await expect.poll(said, { timeout: 10_000 }).toBe('ready\n0 new\n')
      expect(grounds(program.pid)).toHaveLength(1)
      writeSync(input, '\n')
    } finally {
      closeSync(input)
    }
    await expect.poll(() => grounds(program.pid), { timeout: 10_000 }).toEqual([])
  })

  test.skipIf(!isRoot)(
    `as process 1 it reaps whom others leave, and passes signals on${needed}`,
    async () => {
      const script = `trap 'exit 9' TERM; (sleep 0.01 & exit); sleep 0.1
      grep -l '^State:.Z' /proc/[0-9]*/status; echo ready; while :; do sleep 0.01; done`
      const program = new Served(['unshare', '-pf', '--mount-proc', RUN, '--', 'bash', '-c', script])
      await program.line('ready')
      expect(program.lines).toEqual(['ready'])
      process.kill(program.program, 'SIGTERM')
      expect(await program.ended).toBe(9)
    },
  )
})
