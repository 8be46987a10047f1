import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ours, startReaper } from '../../src/cli/shared/reaper.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'
import { childrenOf, mayBeProcess1, Process1 } from './pid_namespace.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }

/** A process 1 with these children, of which `ended` are zombies. */
function processes(children: number[], ended: number[]) {
  const waitedFor: number[] = []
  return {
    waitedFor,
    children: () => children.filter((pid) => !waitedFor.includes(pid)),
    reap: (pid: number) => {
      if (!ended.includes(pid)) return 0
      waitedFor.push(pid)
      return pid
    },
  }
}

test('process 1 waits for all orphans that have ended, and for none that Node has started', () => {
  const ended = [2, 3, 5]
  onTestFinished(() => void process.removeAllListeners('SIGCHLD'))
  const system = processes([2, 3, 4, 5], ended)
  startReaper(system, 1)
  expect(system.waitedFor, 'those from before an exec').toEqual([2, 3, 5])
  ended.push(4)
  process.emit('SIGCHLD', 'SIGCHLD')
  expect(system.waitedFor).toEqual([2, 3, 5, 4])
  const others = processes([7, 8], [7, 8])
  ours.add(7)
  startReaper(others, 1)
  ours.delete(7)
  expect(others.waitedFor).toEqual([8])
})

test('nobody else does', () => {
  const system = processes([2], [2])
  startReaper(system, 2)
  expect(system.waitedFor).toEqual([])
})

describe.skipIf(!mayBeProcess1)('as process 1 of a pid namespace (needs unshare -rpf)', () => {
  const mirror = () => {
    const [source, target] = [scratch(), scratch('/dev/shm')]
    writeFileSync(join(source, 'a'), 'one')
    return ['mirror', '--quiet', '0', source, target]
  }
  /** A program that takes signals, and starts and loses children all the time. */
  const LOOP = 'trap "exit 0" TERM INT HUP; echo mirroring; while :; do sleep 0.01; done'
  const COMMANDS = [
    { name: 'mirror', own: 0, command: mirror },
    { name: 'exec', own: 1, command: () => ['exec', '--', 'sh', '-c', LOOP] },
  ]

  /** A command behind a shell that leaves it an orphan, which ends when something is written to the FIFO. */
  async function withOrphan(command: readonly string[]) {
    const fifo = join(scratch(), 'fifo')
    execFileSync('mkfifo', [fifo])
    const run = new Process1([
      'sh',
      '-c',
      'fifo=$1; shift; (sh -c "read line <\\"$fifo\\"; exit" &); exec "$@"',
      'sh',
      fifo,
      process.execPath,
      MAIN,
      ...command,
    ])
    await run.until('stdout', /^mirroring/)
    return { run, fifo, pid: await run.outerPid() }
  }

  test.each(COMMANDS)('$name: an orphan that ends is no zombie', async ({ command, own }) => {
    const { fifo, pid } = await withOrphan(command())
    expect(childrenOf(pid)).toHaveLength(own + 1)
    writeFileSync(fifo, 'end\n')
    await expect.poll(() => childrenOf(pid), PATIENCE).toHaveLength(own)
  })

  test.each(
    COMMANDS.flatMap((each) =>
      (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map((signal) => ({ ...each, signal })),
    ),
  )('$name: $signal ends it with exit code 0', async ({ command, signal }) => {
    const { run, pid } = await withOrphan(command())
    process.kill(pid, signal)
    expect(await run.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
  })

  test.each([
    ['exit 7', 7],
    ['kill -TERM $$', 128 + 15],
  ])('exec is told how its command ends, orphan or none: %s', async (script, code) => {
    const run = new Process1([process.execPath, MAIN, 'exec', '--', 'sh', '-c', `(true &); ${script}`])
    expect(await run.ended()).toMatchObject({ code, stderr: '' })
  })
})
