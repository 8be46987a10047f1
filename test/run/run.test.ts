// inotify-bridge run: a program as it is hears of what changes behind a silent mount, of local changes once, and is otherwise as if nobody ran it.
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { MAIN, Program, Run } from '../cli/command.ts'
import { hasInotifywait, mayServeFuse, silentMount } from '../cli/in_place.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'

const isHere = existsSync(MAIN) && ['x64', 'arm64'].includes(process.arch)
const mayWatch = isHere && hasInotifywait && mayServeFuse && mayUnshare
const RUN = [process.execPath, MAIN, 'run', '--interval', '20', '--']
const EVENTS = 'create,delete,move,modify,close_write,attrib,delete_self'
const inotifywait = (path: string) => ['inotifywait', '-m', '-e', EVENTS, '--format', '%e %f', path]

/** inotifywait behind a silent mount, under run, that has said that it watches. */
async function listening() {
  const { back, front, wrap } = silentMount()
  const [program = '', ...args] = wrap([...RUN, ...inotifywait(front)])
  const run = new Program(program, args)
  await run.until('stderr', /Watches established/)
  let heard = 0
  /** Resolves to the lines that come next, to the last of these. */
  const hear = async (last: string) => {
    await run.until('stdout', new RegExp(`(.*\n){${heard}}[^]*^${last}$`, 'm'))
    const told = run.lines.slice(heard)
    heard = run.lines.length
    return told
  }
  return { back, front, run, hear }
}

describe.skipIf(!mayWatch)(
  'inotifywait on FUSE, changed behind it (needs dist, inotify-tools, /dev/fuse and unshare -rm)',
  () => {
    test('writes, renames, deletions, a change of mode', async () => {
      const { back, hear } = await listening()
      writeFileSync(join(back, 'a'), 'one')
      expect(await hear('CLOSE_WRITE,CLOSE a')).toEqual(['CREATE a', 'MODIFY a', 'CLOSE_WRITE,CLOSE a'])
      appendFileSync(join(back, 'a'), 'two')
      expect(await hear('CLOSE_WRITE,CLOSE a')).toEqual(['MODIFY a', 'CLOSE_WRITE,CLOSE a'])
      renameSync(join(back, 'a'), join(back, 'b'))
      expect(await hear('MOVED_TO b')).toEqual(['MOVED_FROM a', 'MOVED_TO b'])
      mkdirSync(join(back, 'd'))
      expect(await hear('CREATE,ISDIR d')).toEqual(['CREATE,ISDIR d'])
      rmSync(join(back, 'b'))
      expect(await hear('DELETE b')).toEqual(['DELETE b'])
    })

    test("a ConfigMap's swap, in the kubelet's order", async () => {
      const { back, hear } = await listening()
      await atomicWrite(back, { key: 'one' })
      await hear('CREATE key')
      await atomicWrite(back, { key: 'two' })
      const told = await hear('DELETE,ISDIR \\.\\..*')
      expect(told.map((line) => line.replace(/\.\.\d.*/, '..TIME'))).toEqual([
        'CREATE,ISDIR ..TIME',
        'CREATE ..data_tmp',
        'MOVED_FROM ..data_tmp',
        'MOVED_TO ..data',
        'DELETE,ISDIR ..TIME',
      ])
    })
  },
)

describe.skipIf(!isHere || !hasInotifywait)(
  'a mount that delivers all (needs dist and inotify-tools)',
  () => {
    test('is the kernel’s own, and --verbose says so', async () => {
      const directory = scratch()
      const run = new Run(['run', '--verbose', '--', ...inotifywait(directory)])
      await run.until('stderr', /Watches established/)
      writeFileSync(join(directory, 'a'), 'one')
      await run.until('stdout', /CLOSE_WRITE/)
      expect(run.lines).toEqual(['CREATE a', 'MODIFY a', 'CLOSE_WRITE,CLOSE a'])
      expect(run.stderr).toMatch(/inotify-bridge run: process \d+ watches "\/.*" by inotify\n/)
    })
  },
)

describe.skipIf(!isHere)('the program (needs dist)', () => {
  test.each([
    ['exit 7', 7, null],
    ['kill -TERM $$', null, 'SIGTERM'],
    ['kill -KILL $$', null, 'SIGKILL'],
  ])('%s', async (script, code, signal) => {
    const run = new Run(['run', '--', 'sh', '-c', script])
    expect(await run.ended()).toEqual({ code, signal, stdout: '', stderr: '' })
  })

  test('has its arguments, and the same stdin, stdout and stderr', async () => {
    const words = ['--help', '--', '', 'a b', '--json']
    const script = 'printf "%s\\n" "$@"; cat; echo complaint >&2'
    const run = new Run(['run', '--', 'sh', '-c', script, 'sh', ...words], { input: 'typed\n' })
    const stdout = `${words.join('\n')}\ntyped\n`
    expect(await run.ended()).toEqual({ code: 0, signal: null, stdout, stderr: 'complaint\n' })
  })

  test('leaves nothing in /dev/shm', async () => {
    const script = 'ls -a /dev/shm | grep "^.inotify-bridge-run-$PPID-"'
    const { stdout } = await new Run(['run', '--', 'sh', '-c', script]).ended()
    const name = stdout.trim()
    expect(name).toMatch(/^\.inotify-bridge-run-\d+-\d+$/)
    expect(readdirSync('/dev/shm')).not.toContain(name)
  })
})

describe.skipIf(!isHere)('what it says (needs dist)', () => {
  const setUserId = spawnSync('find', ['/usr/bin', '-perm', '-4000'], { encoding: 'utf8' }).stdout.split(
    '\n',
  )[0]

  test.each([
    [['nosuch'], 127, 'nosuch: ENOENT: it is not found'],
    [['/etc/passwd'], 126, '/etc/passwd: EACCES: it cannot be executed'],
  ])('%s', async (program, code, text) => {
    const run = new Run(['run', '--', ...program])
    expect(await run.ended()).toMatchObject({ code, stderr: `inotify-bridge run: ${text}\n` })
  })

  test.each([
    [['--x', '--', 'true'], 'unknown option --x'],
    [['true'], 'write the program behind --, as in: inotify-bridge run -- true'],
    [['--'], 'write the program behind --'],
    [['--interval', '0', '--', 'true'], '--interval takes milliseconds, from 1 to 86400000, and not 0'],
    [['--interval', 'x', '--', 'true'], '--interval takes milliseconds, from 1 to 86400000, and not x'],
    [['--interval'], 'there is no value behind --interval'],
    [['--interval='], '--interval takes milliseconds'],
    [['--intervals=5', '--', 'true'], 'unknown option --intervals=5'],
    [['--interval=5', '--on-failure=no', '--', 'true'], "--on-failure takes 'continue' or 'end', and not no"],
    [['--on-failure', 'no', '--', 'true'], "--on-failure takes 'continue' or 'end', and not no"],
  ])('%s', async (args, text) => {
    const { code, stderr } = await new Run(['run', ...args]).ended()
    expect(code).toBe(2)
    expect(stderr).toContain(`inotify-bridge run: ${text}`)
  })

  test('a supervisor within another: 1, and with --try it is started', async () => {
    const inner = ['sh', '-c', 'exec "$@"', 'sh', process.execPath, MAIN, 'run']
    const refused = await new Run(['run', '--', ...inner, '--', 'echo', 'started']).ended()
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain(
      'another supervisor has taken the system calls of this container already',
    )
    const tried = await new Run(['run', '--', ...inner, '--try', '--', 'echo', 'started']).ended()
    expect([tried.code, tried.stdout]).toEqual([0, 'started\n'])
  })

  test.skipIf(!setUserId || process.getuid?.() === 0)(
    'a set-user-ID program: 1 (needs a user who is not root)',
    async () => {
      const { code, stderr } = await new Run(['run', '--', String(setUserId)]).ended()
      expect(code).toBe(1)
      expect(stderr).toContain('PROGRAM takes rights when it starts')
    },
  )
})
