import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findEnter } from '../../src/addon.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program } from './command.ts'
import { endIfStill, InPlaceRun, isInhabited, runInPlace, TELLS_SIGNALS } from './in_place.ts'
import { childrenOf, mayBeProcess1, Process1 } from './pid_namespace.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }
const hasScript = spawnSync('script', ['--version']).error === undefined

/** A source with a file that takes a while to copy. */
function filled(): { source: string; text: string } {
  const source = scratch()
  const text = 'whole '.repeat(500_000)
  writeFileSync(join(source, 'key'), text)
  return { source, text }
}

describe.skipIf(!mayUnshare)('mirror --in-place (needs unshare -rm)', () => {
  describe.each(['administrator', 'user'] as const)('run by: %s', (rights) => {
    test('the command begins with complete content, on a tmpfs that it alone sees', async () => {
      const { source, text } = filled()
      const run = runInPlace(source, ['sh', '-c', 'cat "$1/key"; cat >/dev/null', 'sh', source], {
        rights,
        input: null,
      })
      await expect.poll(() => run.stdout.length, PATIENCE).toBe(text.length)
      expect(run.stdout).toBe(text)
      const command = await run.commandPid()
      expect(InPlaceRun.mounts(command, source)).toEqual(['tmpfs'])
      expect(InPlaceRun.mounts(run.pid, source), "inotify-bridge's own namespace").toEqual([])

      const namespace = readlinkSync(`/proc/${command}/ns/mnt`)
      // Held open: a namespace made next could have the number of one that is gone.
      const held = openSync(`/proc/${command}/ns/mnt`, 'r')
      onTestFinished(() => closeSync(held))
      expect(isInhabited(namespace)).toBe(true)
      process.kill(command, 'SIGKILL')
      expect(await run.ended()).toMatchObject({ signal: 'SIGKILL' })
      // The shell's own cat reads to the end of its input.
      await expect.poll(() => isInhabited(namespace), PATIENCE).toBe(false)
      expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(source)
    })

    test.each([
      ['exit 0', { code: 0, signal: null }],
      ['exit 7', { code: 7, signal: null }],
      ['kill -TERM $$', { code: null, signal: 'SIGTERM' }],
      ['kill -KILL $$', { code: null, signal: 'SIGKILL' }],
      ['kill -USR1 $$', { code: null, signal: 'SIGUSR1' }],
      // Not by the signal itself, which would dump core; and one that Node ignores.
      ['kill -SEGV $$', { code: 139, signal: null }],
      ['kill -PIPE $$', { code: 141, signal: null }],
    ])('%s: it ends likewise', async (script, expected) => {
      const run = runInPlace(filled().source, ['sh', '-c', script], { rights })
      expect(await run.ended()).toMatchObject(expected)
    })
  })

  // unshare(1) makes mounts private if it is not told otherwise; a systemd host has them shared.
  const SHARED = ['-rm', '--propagation', 'shared']
  const here = (source: string) => [process.execPath, MAIN, 'mirror', source, '--in-place', '--']

  test('nothing is left mounted', async () => {
    const { source } = filled()
    const script =
      'before=$(cat /proc/self/mountinfo); "$@"; test "$before" = "$(cat /proc/self/mountinfo)" && echo same'
    const argv = [...here(source), 'grep', '-c', source, '/proc/self/mountinfo']
    const run = new Program('unshare', [...SHARED, 'sh', '-c', script, 'sh', ...argv])
    expect(await run.ended()).toMatchObject({ code: 0, stdout: '1\nsame\n' })
  })

  test('what is mounted outside later is seen by the command', async () => {
    const later = scratch()
    const script = 'echo up; read line; grep -c " $1 " /proc/self/mountinfo'
    const argv = [...here(filled().source), 'sh', '-c', script, 'sh', later]
    const run = new Program('unshare', [...SHARED, ...argv], { input: null })
    await run.until('stdout', /up\n/)
    const namespace = ['-t', String(run.pid), '-U', '-m', '--preserve-credentials']
    execFileSync('nsenter', [...namespace, 'mount', '-t', 'tmpfs', 'later', later])
    await run.write('\n')
    expect(await run.ended()).toMatchObject({ code: 0, stdout: 'up\n1\n' })
  })

  test('each signal is passed on, once', async () => {
    const run = runInPlace(filled().source, TELLS_SIGNALS, { input: null })
    await run.until('stdout', /up\n/)
    const signals = [
      'SIGTERM',
      'SIGINT',
      'SIGHUP',
      'SIGQUIT',
      'SIGUSR1',
      'SIGUSR2',
      'SIGCONT',
      'SIGWINCH',
    ] as const
    for (const signal of signals) {
      run.kill(signal)
      await run.until('stdout', new RegExp(`${signal}\n`))
    }
    // Whatever came twice has come by now.
    run.kill('SIGALRM')
    await run.until('stdout', /SIGALRM\n/)
    expect(run.lines).toEqual(['up', ...signals, 'SIGALRM'])
  })

  test.skipIf(!hasScript)('Ctrl-C comes to the command once (needs script)', async () => {
    const { source } = filled()
    const pidFile = join(scratch(), 'pid')
    // script(1) takes one string, for a shell: nothing in it is a name.
    const environment = { SOURCE: source, PID: pidFile, NODE: process.execPath, MAIN, TELL: TELLS_SIGNALS[2] }
    const line =
      'echo $$ >"$PID"; exec unshare -rm "$NODE" "$MAIN" mirror "$SOURCE" --in-place -- "$NODE" -e "$TELL"'
    const run = new Program('script', ['-qefc', line, '/dev/null'], { environment, input: null })
    await run.until('stdout', /up\r?\n/)
    await run.write('\x03')
    await run.until('stdout', /SIGINT\r?\n/)
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGUSR2')
    await run.until('stdout', /SIGUSR2\r?\n/)
    expect(run.stdout.match(/SIGINT/g)).toHaveLength(1)
  })

  test('a command that does not exist is 127, one that is no program 126; each one line', async () => {
    const { source } = filled()
    const file = join(scratch(), 'file')
    writeFileSync(file, 'text', { mode: 0o644 })
    for (const [program, code, words] of [
      ['no-such-program', 127, "'no-such-program' was not found"],
      [file, 126, `'${file}' cannot be executed`],
    ] as const) {
      // All directories of PATH can be searched: with one that cannot, execvp(3) fails with EACCES.
      const environment = { PATH: '/usr/bin:/bin' }
      // So long that no pass is said to have taken longer.
      const flags = ['--interval', '60000']
      const ended = await runInPlace(source, [program], { environment, flags }).ended()
      expect(ended.code).toBe(code)
      expect(ended.stderr).toMatch(
        new RegExp(`^(inotify-bridge mirror: mirroring .*\n)?inotify-bridge mirror: ${words}.*\n$`),
      )
    }
  })

  test('a working directory in the source is the mirror, also behind a link', async () => {
    const { source } = filled()
    mkdirSync(join(source, 'sub'))
    writeFileSync(join(source, 'sub/here'), 'yes')
    const link = join(scratch(), 'link')
    symlinkSync(source, link)
    const cwd = join(link, 'sub')
    const run = runInPlace(link, ['sh', '-c', 'cat here; stat -fc %T .'], { cwd })
    expect(await run.ended()).toMatchObject({ code: 0, stdout: 'yestmpfs\n' })
  })

  test('names and arguments reach no shell, and the reports are on stderr', async () => {
    const source = join(scratch(), 'a b$(touch x);"\n')
    mkdirSync(source)
    writeFileSync(join(source, '$(exit 3)'), 'one')
    const run = runInPlace(source, ['printf', '%s|', '$HOME', '; exit 3', '--json', '', '--'], {
      flags: ['--json'],
      // On a machine that does something else as well, one may say that a look took long.
      environment: { NODE_OPTIONS: '--no-warnings' },
    })
    const { code, stdout, stderr } = await run.ended()
    expect([code, stdout]).toEqual([0, '$HOME|; exit 3|--json||--|'])
    expect(stderr).toBe('{"event":"state","state":"mirroring"}\n')
  })

  test('the pipes that the command shares with inotify-bridge are as it expects them: writes wait', async () => {
    const script = 'for fd in 1 2; do sed -n "s/^flags:[^0-9]*//p" /proc/$$/fdinfo/$fd; done; cat'
    const run = runInPlace(filled().source, ['sh', '-c', script], { input: null })
    await run.until('stdout', /\d+\n\d+\n/)
    for (const flags of run.lines) expect(Number.parseInt(flags, 8) & constants.O_NONBLOCK, flags).toBe(0)
  })

  test('the mirror goes on when nobody reads what it reports', async () => {
    const { source } = filled()
    const script = 'exec 3>&1; "$@" 2>&1 >&3 | read -r first'
    const argv = [...here(source), 'sh', '-c', 'while read -r line; do ls; done']
    const options = { input: null, cwd: source, environment: { INOTIFY_BRIDGE_INTERVAL: '20' } }
    const run = new Program('unshare', ['-rm', 'sh', '-c', script, 'sh', ...argv], options)
    // Each is reported, to a pipe that has no reader any more; and the next is copied all the same.
    for (const name of ['one', 'two', 'three']) {
      mkdirSync(join(source, name))
      const listed = async () => {
        await run.write('\n')
        return run.stdout
      }
      await expect.poll(listed, PATIENCE).toContain(name)
    }
  })

  test('more than may be copied: the command is not started', async () => {
    const { source } = filled()
    const { code, stdout, stderr } = await runInPlace(source, ['echo', 'started'], {
      flags: ['--max-bytes', '10'],
    }).ended()
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /^inotify-bridge mirror: .* is not complete, .*: over-limit: 3000000 bytes, at most 10: raise --max-bytes\n$/,
    )
  })

  test.each([
    ['a file', '/etc/passwd', "ENOTDIR: '/etc/passwd' is no directory: --in-place mirrors the directory"],
    ['nothing', '/no/such', "ENOENT: no such file or directory, realpath '/no/such'"],
    ['the root', '/', "--in-place cannot cover '/'"],
  ])('%s as a source: one line', async (_, source, words) => {
    const { code, stderr } = await runInPlace(source, ['true']).ended()
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(words)])
  })

  test('where user namespaces are used up: one line that names the call, the errno, the setting and the way out', async () => {
    const { source } = filled()
    const script = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "$@"'
    const argv = [process.execPath, MAIN, 'mirror', source, '--in-place', '--', 'true']
    const run = new Program('unshare', ['-rm', 'sh', '-c', script, 'sh', ...argv])
    const { code, stderr } = await run.ended()
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^inotify-bridge mirror: ENOSPC: .*unshare\(CLONE_NEWUSER\|CLONE_NEWNS\): there is no CAP_SYS_ADMIN, .*user\.max_user_namespaces is 0.*; mirror into a directory .*emptyDir with medium: Memory\)\n$/,
    )
  })

  test('user 0 without CAP_SETFCAP cannot be mapped, and is told so', async () => {
    const argv = [process.execPath, MAIN, 'mirror', filled().source, '--in-place', '--', 'true']
    const run = new Program('unshare', ['-rm', 'setpriv', '--bounding-set=-all', ...argv])
    const { code, stderr } = await run.ended()
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^inotify-bridge mirror: EPERM: .*uid_map: .*user 0 without CAP_SETFCAP.*run as another user.*\n$/,
    )
  })

  test.skipIf(process.geteuid?.() !== 0)(
    'root without CAP_SYS_ADMIN: the command can become another user (needs root)',
    async () => {
      const { source } = filled()
      chmodSync(source, 0o755)
      chownSync(source, 7, 8)
      const become = [
        'setpriv',
        '--reuid=1000',
        '--regid=1001',
        '--clear-groups',
        'sh',
        '-c',
        'id -u; id -g; stat -c %u:%g .',
      ]
      const without = ['--bounding-set=-sys_admin', '--inh-caps=-all']
      const run = new Program('setpriv', [...without, ...here(source), ...become], { cwd: source })
      expect(await run.ended()).toMatchObject({ code: 0, stdout: '1000\n1001\n7:8\n' })
    },
  )

  test('--ready-file is there when the command starts, and gone when it has ended', async () => {
    const ready = join(scratch(), 'ready')
    const run = runInPlace(filled().source, ['test', '-e', ready], { flags: ['--ready-file', ready] })
    expect((await run.ended()).code).toBe(0)
    expect(existsSync(ready)).toBe(false)
  })

  test('the command is told to end when inotify-bridge is killed', async () => {
    // Not once(): it comes again as each of the killed one's threads ends (prctl(2)), and would find no listener by then.
    const script = `process.on('SIGTERM', () => { console.log('told'); process.exit() })
      setInterval(() => {}, 1e6)
      console.log('up')`
    const run = runInPlace(filled().source, [process.execPath, '-e', script])
    await run.until('stdout', /up\n/)
    const command = await run.commandPid()
    onTestFinished(() => endIfStill(command, 'told'))
    run.kill('SIGKILL')
    await run.until('stdout', /told\n/)
  })

  test('what waits for its parent ends with it, and the command is not run', async () => {
    const marks = scratch()
    // With CAP_SYS_ADMIN: nothing is asked before 'ready'.
    const argv = ['-rm', findEnter(), scratch(), '1048576', '', 'touch', join(marks, 'ran')]
    const child = spawn('unshare', argv, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const socket = child.stdio[3] as Duplex
    const [line] = await once(socket, 'data')
    expect(String(line)).toMatch(/^ready \d+\n$/)
    socket.destroy()
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(existsSync(join(marks, 'ran'))).toBe(false)
  })

  describe.skipIf(!mayBeProcess1)('as process 1 (needs unshare -rpf)', () => {
    const line = (source: string) => [process.execPath, MAIN, 'mirror', source, '--in-place', '--']

    test.each([
      ['exit 7', 7],
      ['kill -TERM $$', 143],
    ])('%s is exit code %i', async (script, code) => {
      const run = new Process1([...line(filled().source), 'sh', '-c', script])
      expect(await run.ended()).toMatchObject({ code, signal: null })
    })

    test("the command's orphans are no zombies, and SIGTERM reaches it", async () => {
      const fifo = join(scratch(), 'fifo')
      execFileSync('mkfifo', [fifo])
      const script = 'fifo=$1; shift; (sh -c "read line <\\"$fifo\\"; exit" &); exec "$@"'
      const run = new Process1([...line(filled().source), 'sh', '-c', script, 'sh', fifo, ...TELLS_SIGNALS], {
        input: null,
      })
      await run.until('stdout', /up\n/)
      const pid = await run.outerPid()
      await expect.poll(() => childrenOf(pid), PATIENCE).toHaveLength(2)
      writeFileSync(fifo, 'end\n')
      await expect.poll(() => childrenOf(pid), PATIENCE).toHaveLength(1)
      process.kill(pid, 'SIGTERM')
      await run.until('stdout', /SIGTERM\n/)
    })
  })
})
