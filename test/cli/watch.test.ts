import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'

test('watch says on what it watches: a line for all that is watched alike', async () => {
  const directory = scratch()
  const names = ['a\x1b[31m', 'b', 'c']
  for (const name of names) mkdirSync(join(directory, name))
  const run = await Run.watching(names, { cwd: directory })
  const [first, second, ...rest] = run.stderr.trim().split('\n')
  expect(first).toMatch(/^inotify-bridge watch: .*\/a\\x1b\[31m and 2 more: (inotify|poll) \(.+\)$/)
  expect(second).toBe('inotify-bridge watch: Watches established: 3 directories')
  expect(rest).toEqual([])
})

describe('what is printed', () => {
  test('a watched path itself: lost, and restored', async () => {
    const work = scratch()
    mkdirSync(join(work, 'd'))
    const run = await Run.watching(['-m', '-e', 'create', '--interval', '20', 'd'], { cwd: work })
    rmdirSync(join(work, 'd'))
    await run.until('stdout', /^d LOST \n$/)
    mkdirSync(join(work, 'd'))
    await run.until('stdout', /^d LOST \nd RESTORED \n$/)
    mkdirSync(join(work, 'd/sub'))
    await run.until('stdout', /\nd\/ CREATE,ISDIR sub\n$/)
  })

  test('what a poll finds, as one whole write', async () => {
    const work = scratch()
    const run = await Run.watching(['-m', '--backend', 'poll', '--interval', '10', '.'], { cwd: work })
    writeFileSync(join(work, 'f'), 'text')
    await run.until('stdout', /^\.\/ CREATE f\n\.\/ CLOSE_WRITE,CLOSE f\n/)
  })

  test('what a poll finds, to who waits for moved_to alone', async () => {
    const work = scratch()
    const args = ['--backend', 'poll', '--interval', '10', '-e', 'moved_to', '.']
    const run = await Run.watching(args, { cwd: work })
    writeFileSync(join(work, 'f'), 'text')
    expect((await run.ended()).stdout).toBe('./ MOVED_TO f\n')
  })

  test('names that end lines and colour terminals: escaped, but exact before a NUL and in JSON', async () => {
    const name = 'a\nb\x1b[31m\x9b\\,"'
    const escaped = 'a\\nb\\x1b[31m\\x9b\\\\,"'
    for (const [args, expected] of [
      [[], `./ CREATE,ISDIR ${escaped}\n`],
      [['--format', '%w%f'], `./${escaped}\n`],
      [['--format', '%w%f%0', '--no-newline'], `./${name}\0`],
    ] as const) {
      const work = scratch()
      const run = await Run.watching([...args, '.'], { cwd: work })
      mkdirSync(join(work, name))
      expect((await run.ended()).stdout).toBe(expected)
    }
    const work = scratch()
    const run = await Run.watching(['--json', '.'], { cwd: work })
    mkdirSync(join(work, name))
    expect((await run.ended()).stdout).toMatch(/^[\x20-\x7e]+\n$/)
    expect(run.objects).toMatchObject([{ type: 'create', path: join(work, name) }])
  })

  test('nothing with -qq, and the exit code tells', async () => {
    const work = scratch()
    const run = new Run(['watch', '-qq', '.'], { cwd: work })
    const prod = setInterval(() => writeFileSync(join(work, 'f'), 'x'), 20)
    const ended = await run.ended().finally(() => clearInterval(prod))
    expect(ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('the raw records escaped, too', async () => {
    const work = scratch()
    const run = await Run.watching(['--raw', '-e', 'create', '.'], { cwd: work })
    mkdirSync(join(work, 'a\n\x1b'))
    expect((await run.ended()).stdout).toBe('. wd=1 IN_CREATE|IN_ISDIR cookie=0 a\\n\\x1b\n')
  })
})

describe('what is watched', () => {
  test('paths from stdin', async () => {
    const work = scratch()
    for (const name of ['a', 'b']) mkdirSync(join(work, name))
    const run = await Run.watching(['-m', '--fromfile', '-'], { cwd: work, input: 'a\n\nb\n' })
    for (const name of ['a/1', 'b/2']) mkdirSync(join(work, name))
    await run.until('stdout', /CREATE,ISDIR 2/)
    expect(run.stdout).toBe('a/ CREATE,ISDIR 1\nb/ CREATE,ISDIR 2\n')
  })

  test('Ctrl-C is clean while the paths are read', async () => {
    const run = new Run(['watch', '--fromfile', '-'], { input: null })
    await run.write('/no/such\n'.repeat(200_000))
    run.kill('SIGINT')
    expect(await run.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
  })

  test('--exclude is not looked at: watch() ignores it', async () => {
    const work = scratch()
    for (const name of ['old', 'a.tmp']) writeFileSync(join(work, name), '')
    const args = ['-m', '--json', '--initial', '--exclude', '\\.tmp$', '.']
    const run = await Run.watching(args, { cwd: work })
    renameSync(join(work, 'a.tmp'), join(work, 'a'))
    await run.until('stdout', /\/a"/)
    // No rename: it came from where nothing is known.
    expect(run.objects).toMatchObject([
      { type: 'create', path: join(work, 'old') },
      { type: 'create', path: join(work, 'a') },
    ])
  })

  test('--only and --gitignore are the options of watch()', async () => {
    const work = scratch()
    for (const name of ['old.ts', 'old.js', 'out.ts']) writeFileSync(join(work, name), '')
    writeFileSync(join(work, '.gitignore'), 'out.*')
    const run = await Run.watching(['-m', '--json', '--initial', '--only', '*.ts', '--gitignore', '.'], {
      cwd: work,
    })
    writeFileSync(join(work, 'new.ts'), '')
    await run.until('stdout', /new\.ts"/)
    const seen = [...new Set(run.objects.map(({ path }) => path))]
    expect(seen.toSorted()).toEqual(['.gitignore', 'new.ts', 'old.ts'].map((name) => join(work, name)))
  })

  test('--initial prints what is there, and waits for the first change then', async () => {
    const work = scratch()
    for (let i = 0; i < 100; i++) writeFileSync(join(work, `f${i}`), '')
    const run = await Run.watching(['--initial', '-e', 'create', '.'], { cwd: work })
    await run.until('stdout', /(\.\/ CREATE f\d+\n){100}/)
    mkdirSync(join(work, 'new'))
    const { code } = await run.ended()
    expect(run.lines).toHaveLength(101)
    expect(run.lines.at(-1)).toBe('./ CREATE,ISDIR new')
    expect(code).toBe(0)
  })
})

describe('--timeout', () => {
  test.each([
    ['', [], 'no change within 1 s'],
    ['--raw', ['--raw'], 'no event within 1 s'],
    ['-q', ['-q'], 'no change within 1 s'],
  ])('ends a wait in vain with exit code 1 and says why %s', async (_, args, words) => {
    const { code, stdout, stderr } = await new Run(['watch', '-t', '1', ...args, scratch()]).ended()
    expect(stdout).toBe('')
    expect(stderr).toMatch(new RegExp(`inotify-bridge watch: ${words}\\n$`))
    expect(code).toBe(1)
  })

  test('with -m counts from the last change, and only what is asked for is one', async () => {
    const work = scratch()
    const run = await Run.watching(['-m', '-t', '2', '-e', 'create', '.'], { cwd: work })
    const start = Date.now()
    const file = join(work, 'f')
    const timer = setTimeout(() => writeFileSync(file, ''), 1000)
    const prod = setInterval(() => appendFileSync(join(work, 'f'), 'x'), 1500)
    const { code, stdout } = await run.ended().finally(() => clearInterval(prod))
    clearTimeout(timer)
    expect(stdout).toBe('./ CREATE f\n')
    expect(code).toBe(1)
    // Not 2 s after the start, for there was a change; but for all that was appended.
    expect(Date.now() - start).toBeGreaterThan(2500)
  })

  test('0 is for ever, and a change in time is exit code 0', async () => {
    const work = scratch()
    const run = await Run.watching(['-t', '0', '-e', 'create', '.'], { cwd: work })
    mkdirSync(join(work, 'd'))
    expect(await run.ended()).toMatchObject({ code: 0, stdout: './ CREATE,ISDIR d\n' })
  })
})

/** Several times what a pipe, and who reads from it, take. */
const LINES = rounds(process.env.LINES, { quick: 5000, long: 10_000 })

describe('a slow reader', () => {
  test('gets every line, in order', async () => {
    const work = scratch('/dev/shm')
    const run = await Run.watching(['-m', '-e', 'create', '.'], { cwd: work })
    run.pauseStdout()
    const count = LINES
    const name = (i: number) => `${'x'.repeat(100)}${i}`
    for (let i = 0; i < count; i++) mkdirSync(join(work, name(i)))
    // It has written what the pipe takes, and waits.
    await expect.poll(() => written(run.pid), { timeout: 60_000 }).toBeGreaterThan(50_000)
    run.resumeStdout()
    await run.until('stdout', new RegExp(`${name(count - 1)}\n`))
    expect(run.lines).toEqual(Array.from({ length: count }, (_, i) => `./ CREATE,ISDIR ${name(i)}`))
  })

  test('that has stopped does not keep a second Ctrl-C waiting', async () => {
    const work = scratch('/dev/shm')
    const run = await Run.watching(['-m', '-e', 'create', '.'], { cwd: work })
    run.pauseStdout()
    for (let i = 0; i < LINES; i++) mkdirSync(join(work, `${'x'.repeat(100)}${i}`))
    await expect.poll(() => written(run.pid), { timeout: 60_000 }).toBeGreaterThan(50_000)
    run.kill('SIGINT')
    // The first has been handled when the second has its usual effect.
    const again = setInterval(() => run.kill('SIGINT'), 50)
    await run.exited().finally(() => clearInterval(again))
  })
})

/** Returns the number of bytes that the process has written. */
function written(pid: number): number {
  const [, bytes = '0'] = /^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? []
  return Number(bytes)
}

const canScript = spawnSync('script', ['--version']).error === undefined

describe.runIf(canScript)('on a terminal (where script(1) is installed)', () => {
  /** Returns the text on a terminal of 30 columns, until it matches, of a `watch` of 2000 paths that change all the time. */
  async function onTerminal(args: string, last: RegExp): Promise<string> {
    const work = scratch('/dev/shm')
    const names = Array.from({ length: 2000 }, (_, i) => join(work, String(i)))
    for (const name of names) mkdirSync(name)
    writeFileSync(join(work, 'list'), names.join('\n'))
    const command = `stty cols 30; exec ${process.execPath} ${MAIN} watch -m ${args} $(cat ${work}/list)`
    const terminal = new Program('script', ['-qefc', command, '/dev/null'])
    const prod = setInterval(() => {
      for (const name of ['0', '1999']) mkdirSync(join(work, name, String(process.hrtime.bigint())))
    }, 20)
    await terminal.until('stdout', last).finally(() => clearInterval(prod))
    return terminal.stdout
  }

  test('a line says how far it is, within its width, and is gone before anything else comes', async () => {
    const text = await onTerminal('', /established: 2,000 directories\r\n/)
    // Each line as it is left: what came after the last return, over all that came before.
    const lines = text.split('\r\n').map((line) => line.split('\r'))
    const progress = lines.flatMap((parts) => parts.slice(0, -1))
    expect(progress.some((part) => /^setting up watches: \d[\d,]* /.test(part))).toBe(true)
    for (const part of progress) expect(part).toMatch(/^(setting up watches: .*| *)$/)
    for (const part of progress) expect(part.length).toBeLessThan(30)
    for (const parts of lines) expect(parts.at(-2)?.trim() ?? '').toBe('')
    const left = lines.map((parts) => parts.at(-1) ?? '').filter((line) => !/ CREATE,ISDIR \d+$/.test(line))
    expect(left).toEqual([
      expect.stringMatching(/^inotify-bridge watch: .*\/0 and 1,999 more: inotify \(/),
      'inotify-bridge watch: Watches established: 2,000 directories',
      '',
    ])
    expect(text).toMatch(/ CREATE,ISDIR .*established/s)
  })

  test('none with -q', async () => {
    const text = await onTerminal('-q', /\/1999\/ CREATE,ISDIR/)
    expect(text).not.toContain('setting up')
    expect(text).toMatch(/^\/dev\/shm\/.* CREATE,ISDIR \d+\r\n/)
  })
})

test('no progress where stderr is no terminal', async () => {
  const work = scratch('/dev/shm')
  const names = Array.from({ length: 1000 }, (_, i) => String(i))
  for (const name of names) mkdirSync(join(work, name))
  const run = await Run.watching(names, { cwd: work })
  expect(run.stderr).not.toMatch(/setting up|\r/)
})
