// `watch PATH -- COMMAND`: a command that is started anew at each change.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'
import { childrenOf, mayBeProcess1, Process1 } from './pid_namespace.ts'

const hasGit = spawnSync('git', ['--version']).status === 0
const PATIENCE = { interval: 5, timeout: 60_000 }

function file() {
  const directory = join(scratch(), 'src')
  mkdirSync(directory)
  const path = join(directory, 'server.js')
  writeFileSync(path, '0')
  return { directory, path }
}

/** Puts a file in place by one event, whole: a machine that does something else may pause within a write for longer than `--delay`. */
function put(path: string, text: string): void {
  const draft = join(scratch(), 'draft')
  writeFileSync(draft, text, { mode: 0o755 })
  renameSync(draft, path)
}

/** `inotify-bridge watch`, which ends with the test, and its command before it. */
function watching(args: string[], options: ConstructorParameters<typeof Run>[1] = {}): Run {
  const run = new Run(['watch', ...args], options)
  onTestFinished(async () => {
    run.kill('SIGTERM')
    await run.exited()
  })
  return run
}

/** Says what the file holds, its pid, and that of its child, and goes on. */
const SERVER = 'read -r n <"$0" || :; sleep 4721 & echo "up $n $$ $!"; wait'
const STUBBORN = `trap "" TERM; ${SERVER}; wait`

const starts = (run: { stdout: string }) => [...run.stdout.matchAll(/^up (\S*)/gm)].map(([, text]) => text)
const pids = (run: { stdout: string }) =>
  [...run.stdout.matchAll(/^up \S* (\d+) (\d+)$/gm)].map(([, ...both]) => both)
const isAlive = (pid: string | undefined) => existsSync(`/proc/${pid}/exe`)

/** Ends it well. Returns what it has said. */
async function end(run: Run, signal: NodeJS.Signals = 'SIGTERM'): Promise<string> {
  run.kill(signal)
  const { code, stderr } = await run.ended()
  expect(code).toBe(0)
  for (const pid of pids(run).flat()) expect(isAlive(pid)).toBe(false)
  return stderr
}

test.each([
  ['a server', SERVER, 'SIGINT'],
  ['a server', SERVER, 'SIGTERM'],
  ['one that takes no SIGTERM', STUBBORN, 'SIGHUP'],
] as const)(
  '%s: started at once, ended with all it started and begun anew at each change (%s, %s)',
  async (_, script, signal) => {
    const { directory, path } = file()
    const run = watching(['-q', directory, '--', 'sh', '-c', script, path])
    for (const n of [1, 2, 3]) {
      await expect.poll(() => pids(run).length, PATIENCE).toBe(n)
      for (const pid of pids(run).slice(0, -1).flat()) expect(isAlive(pid)).toBe(false)
      for (const pid of pids(run).at(-1) ?? []) expect(isAlive(pid)).toBe(true)
      if (n < 3) put(path, String(n))
    }
    expect(await end(run, signal)).toBe('')
    expect(starts(run)).toEqual(['0', '1', '2'])
  },
)

test('a burst is one start, when it is over', async () => {
  const { directory, path } = file()
  const run = watching(['--delay', '2000', directory, '--', 'sh', '-c', SERVER, path])
  await expect.poll(() => starts(run), PATIENCE).toEqual(['0'])
  // For longer than the delay in all, and with pauses in which there would be a start.
  for (const text of ['1', '2', '3', '4', '5', '6']) {
    put(path, text)
    await setTimeout(500)
  }
  await expect.poll(() => starts(run), PATIENCE).toEqual(['0', '6'])
  await end(run)
})

test.skipIf(!hasGit)('a checkout is one start, however long it takes (needs git)', async () => {
  const { directory, path } = file()
  const user = ['-c', 'user.name=me', '-c', 'user.email=me@localhost']
  const git = (...words: string[]) => execFileSync('git', ['-C', directory, ...user, ...words])
  git('init', '-q', '-b', 'one')
  // With pauses in which there would be a start.
  git('config', 'filter.slow.smudge', 'sleep 0.3; cat')
  writeFileSync(join(directory, '.git/info/attributes'), '* filter=slow')
  for (const branch of ['one', 'two']) {
    if (branch === 'two') git('checkout', '-q', '-b', branch)
    for (const name of ['a', 'b', 'c', 'd', 'server.js']) writeFileSync(join(directory, name), branch)
    git('add', '.')
    git('commit', '-q', '-m', branch)
  }
  const run = watching(['-r', '--gitignore', directory, '--', 'sh', '-c', SERVER, path])
  await expect.poll(() => starts(run), PATIENCE).toEqual(['two'])
  await promisify(execFile)('git', ['-C', directory, 'checkout', '-q', 'one'])
  await expect.poll(() => starts(run).length, PATIENCE).toBe(2)
  put(path, 'later')
  await expect.poll(() => starts(run).length, PATIENCE).toBe(3)
  await end(run)
  expect(starts(run)).toEqual(['two', 'one', 'later'])
})

test('changes that are not chosen are no start, those below are with -r', async () => {
  const { directory, path } = file()
  const deep = join(directory, 'deep/er/server.js')
  mkdirSync(join(directory, 'deep/er'), { recursive: true })
  put(join(directory, '.gitignore'), 'made.js\n')
  const chosen = ['-r', '--gitignore', '--exclude', 'left_out', '--only', '**/*.js', '-e', 'moved_to']
  const run = watching([...chosen, directory, '--', 'sh', '-c', SERVER, path])
  await expect.poll(() => starts(run), PATIENCE).toEqual(['0'])
  for (const name of ['made.js', 'left_out.js', 'no_script']) put(join(directory, name), '')
  mkdirSync(join(directory, 'made_and_not_moved.js'))
  // Several times what a start takes.
  await setTimeout(500)
  put(path, '1')
  await expect.poll(() => starts(run), PATIENCE).toEqual(['0', '1'])
  put(deep, '')
  await expect.poll(() => starts(run), PATIENCE).toEqual(['0', '1', '1'])
  await end(run)
})

test('a command that writes at its end, and is slow to end, is begun anew once', async () => {
  const { directory, path } = file()
  const script = `trap 'echo x >>"$1"; sleep 0.3; echo x >>"$1"; exit' TERM; ${SERVER}`
  const words = ['sh', '-c', script, path, join(directory, 'log')]
  const run = watching(['--delay', '0', directory, '--', ...words])
  for (const n of [1, 2, 3]) {
    await expect.poll(() => starts(run).at(-1), PATIENCE).toBe(String(n - 1))
    put(path, String(n))
  }
  await expect.poll(() => starts(run).at(-1), PATIENCE).toBe('3')
  await end(run)
  expect(starts(run)).toEqual(['0', '1', '2', '3'])
})

test('a command that ends by itself: said, with what it left behind, and begun at the next change', async () => {
  const { directory, path } = file()
  const script = 'sleep 4722 & echo "up x $$ $!"; exit 3'
  const run = watching(['-q', directory, '--', 'sh', '-c', script])
  const line = "inotify-bridge watch: 'sh' has ended (exit code 3), and is started again at the next change\n"
  await expect.poll(() => run.stderr, PATIENCE).toBe(line)
  await expect.poll(() => pids(run).flat().some(isAlive), PATIENCE).toBe(false)
  put(path, '1')
  await expect.poll(() => run.stderr, PATIENCE).toBe(line.repeat(2))
  expect(await end(run)).toBe(line.repeat(2))
  expect(pids(run)).toHaveLength(2)
})

test('it has the stdin, and the words behind --, as they are', async () => {
  const { directory } = file()
  const words = ['sh', '-c', 'cat; echo "$@"; sleep 4723', '-r', '--json', '--']
  const run = watching([directory, '--', ...words], { input: 'typed\n' })
  await run.until('stdout', /^typed\n--json --\n$/)
  await end(run)
})

describe('a command that cannot be started', () => {
  test('ends the watch at its start', async () => {
    const { directory } = file()
    const { code, stderr } = await new Run(['watch', '-q', directory, '--', '/no/such\x1b']).ended()
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("watch: '/no/such\\x1b': ENOENT: there is no such"),
    ])
  })

  test('is said, and tried again at the next change, later', async () => {
    const { directory, path } = file()
    const program = join(directory, 'program')
    const write = (first: string) => put(program, `#!${first}\n${SERVER.replaceAll('$0', path)}\n`)
    write('/bin/sh')
    const run = watching(['-q', directory, '--', program])
    await expect.poll(() => starts(run).length, PATIENCE).toBe(1)
    write('/no/such')
    await run.until('stderr', /ENOENT: there is no such program/)
    write('/bin/sh')
    await expect.poll(() => starts(run).length, PATIENCE).toBe(2)
    await end(run)
  })
})

test.skipIf(!mayBeProcess1)('as process 1 it leaves no zombie (needs unshare)', async () => {
  const { directory, path } = file()
  const script = '(sh -c "exit 0" &); echo "up x $$ 0"; exec sleep 4724'
  const run = new Process1([process.execPath, MAIN, 'watch', '-q', directory, '--', 'sh', '-c', script])
  for (let n = 1; n <= 3; n++) {
    await expect.poll(() => starts(run).length, PATIENCE).toBe(n)
    put(path, String(n))
  }
  await expect.poll(() => starts(run).length, PATIENCE).toBe(4)
  const pid = await run.outerPid()
  await expect.poll(() => childrenOf(pid).length, PATIENCE).toBe(1)
  process.kill(pid, 'SIGTERM')
  expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
})

test('behind -- are the paths where none is before it', async () => {
  const { directory, path } = file()
  const run = await Run.watching(['-e', 'close_write', '--', directory])
  writeFileSync(path, '1')
  expect((await run.ended()).stdout).toMatch(/^\S+\/src\/ CLOSE_WRITE,CLOSE server\.js\n$/)
})

test.each([
  [['/', '--'], 'there is no COMMAND behind --'],
  [['/', '--', ''], 'there is no COMMAND behind --'],
  [['--raw', '/', '--', 'true'], '--raw does not go with -- COMMAND'],
  [['--initial', '/', '--', 'true'], '--initial does not go with -- COMMAND'],
  [['--format', '%w', '/', '--', 'true'], '--format does not go with -- COMMAND'],
  [['--delay', '5', '/'], '--delay needs -- COMMAND'],
  [['--delay', '-5', '/', '--', 'true'], '--delay takes a whole number of at least 0'],
])('%j: %s', async (args, words) => {
  const { code, stderr } = await new Run(['watch', ...args]).ended()
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})
