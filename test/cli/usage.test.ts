import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { Run } from './command.ts'

const COMMANDS = ['watch', 'mirror', 'publish', 'reload', 'run', 'exec', 'diagnose', 'completion']

test.each([['--help'], ['-h'], ['help']])('%s lists every command', async (flag) => {
  const { code, stdout, stderr } = await new Run([flag]).ended()
  expect([code, stderr]).toEqual([0, ''])
  for (const command of COMMANDS) expect(stdout).toContain(command)
})

test.each(COMMANDS)('%s --help tells the usage and the exit codes', async (command) => {
  const { code, stdout, stderr } = await new Run([command, '--help']).ended()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(`usage: inotify-bridge ${command}`)
  expect(stdout).toContain('Exit code')
})

test.each(['--version', '-v'])('%s prints the version', async (flag) => {
  expect((await new Run([flag]).ended()).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

const WRONG: Array<[what: string, args: string[], code: number, words: string]> = [
  ['no command', [], 2, 'name a command'],
  ['an unknown command', ['wach'], 2, "there is no command 'wach'"],
  ...[['exec'], ['exec', '--'], ['exec', '--', ''], ['exec', 'vite'], ['exec', 'vite', '--', 'dev']].map(
    (args): (typeof WRONG)[number] => [args.join(' '), args, 2, 'write the command behind --'],
  ),
  ['watch without a path', ['watch'], 2, 'name at least one PATH'],
  ['an unknown flag', ['watch', '--frob', '/'], 2, "Unknown option '--frob'"],
  ['an unknown event', ['watch', '-e', 'moved', '/'], 2, "there is no event 'moved'"],
  ['an event that is no change', ['watch', '-e', 'open', '/'], 2, '--raw'],
  ['an event that is no change, among others', ['watch', '-e', 'create,close_nowrite', '/'], 2, '--raw'],
  ['a -t that is no number', ['watch', '-t', '0.5', '/'], 2, '--timeout takes a whole number of at least 0'],
  ['a value that begins with a dash', ['watch', '--exclude', '-x', '/'], 2, 'joined to it: --exclude=-VALUE'],
  ['the same by a short name', ['watch', '-e', '-x', '/'], 2, 'joined to it: -e-VALUE'],
  ['a -t below 0', ['watch', '--timeout=-1', '/'], 2, 'at least 0'],
  ['a -t that no timer can wait for', ['watch', '-t', '9999999', '/'], 2, 'at most 2147483; got'],
  ['a --settle below 0', ['watch', '--settle=-5', '/'], 2, '--settle takes a whole number of at least 0'],
  ['an unknown conversion', ['watch', '--format', '%w%d', '/'], 2, "'%d'; it takes %w %f %e"],
  ['%T without a format for it', ['watch', '--format', '%T', '/'], 2, '--timefmt says how'],
  ['an unknown conversion of time', ['watch', '--format', '%T', '--timefmt', '%Q', '/'], 2, "'%Q'; it takes"],
  ['--timefmt without --format', ['watch', '--timefmt', '%F', '/'], 2, '--timefmt needs --format'],
  ['--no-newline without --format', ['watch', '--no-newline', '/'], 2, '--no-newline needs --format'],
  ['two ways to print', ['watch', '--format', '%w', '--json', '/'], 2, '--format does not go with --json'],
  ['--csv of inotifywait', ['watch', '--csv', '/'], 2, "Unknown option '--csv'"],
  ['the same by its letter', ['watch', '-mc', '/'], 2, "Unknown option '-c'"],
  ['--fromfile with --raw', ['watch', '--raw', '--fromfile', '-'], 2, '--fromfile does not go with --raw'],
  [
    'no such list',
    ['watch', '--fromfile', '/no/such'],
    1,
    "ENOENT: no such file or directory, open '/no/such'",
  ],
  [
    'a list that is a directory',
    ['watch', '--fromfile', '/'],
    1,
    "EISDIR: illegal operation on a directory, read '/'",
  ],
  ['@ of inotifywait', ['watch', '/', '@/\x1b'], 1, "/@/\\x1b' (a path must be there"],
  [
    '--raw and what it does not do',
    ['watch', '--raw', '-r', '/'],
    2,
    "--recursive does not go with --raw, which prints the kernel's own events",
  ],
  ['a pattern that is none', ['watch', '--exclude', '(', '/'], 2, 'Unterminated group'],
  ['a pattern of POSIX', ['watch', '--include', '[[:digit:]]', '/'], 2, 'has no [:digit:]'],
  ['an empty path', ['watch', '/tmp', ''], 2, 'one of the paths is empty'],
  ['ESC in an unknown flag', ['watch', '--\x1b[31m', '/'], 2, '\\x1b[31m'],
  ['ESC in an event', ['watch', '-e', '\x1b[31m', '/'], 2, '\\x1b[31m'],
  ['an unknown backend', ['watch', '--backend', 'kqueue', '/'], 2, 'auto, inotify, poll'],
  ['an interval of 0', ['watch', '--interval', '0', '/'], 2, 'at least 1'],
  ['an interval that is no number', ['mirror', '--interval', '1s', '/a', '/b'], 2, "got '1s'"],
  [
    'no such directory to watch',
    ['watch', '/no/such'],
    1,
    "ENOENT: no such file or directory, watch '/no/such'",
  ],
  ['nothing raw to watch', ['watch', '--raw', '/no/such'], 1, 'ENOENT'],
  ['mirror without a target', ['mirror', '/tmp'], 2, 'name a SOURCE and a TARGET'],
  ['an empty path to mirror', ['mirror', '', '/tmp/target'], 2, 'one of the paths is empty'],
  [
    'a port that is none',
    ['mirror', '--listen', '70000', '/a', '/b'],
    2,
    "65535 (0: any that is free); got '70000'",
  ],
  [
    'a host without a port',
    ['mirror', '--listen', 'localhost', '/a', '/b'],
    2,
    '--listen takes PORT, HOST:PORT',
  ],
  [
    '--once and --listen',
    ['mirror', '--once', '--listen', '0', '/a', '/b'],
    2,
    '--listen does not go with --once',
  ],
  ['an empty --ready-file', ['mirror', '--ready-file=', '/a', '/b'], 2, "--ready-file takes a path; got ''"],
  ['--in-place without a command', ['mirror', '/a', '--in-place'], 2, '--in-place needs a command'],
  [
    '--in-place with a target',
    ['mirror', '/a', '/b', '--in-place', '--', 'true'],
    2,
    '--in-place takes one SOURCE',
  ],
  [
    '--in-place and --once',
    ['mirror', '/a', '--in-place', '--once', '--', 'true'],
    2,
    '--in-place does not go with',
  ],
  [
    'links in place',
    ['mirror', '/a', '--in-place', '--over-limit', 'link', '--', 'true'],
    2,
    'lead to themselves',
  ],
  ['no such source', ['mirror', '/no/such', '/tmp/target'], 1, 'ENOENT'],
  ['a source that is a device', ['mirror', '/dev/null', '/tmp/target'], 1, 'ENOTDIR'],
  ['a file as a source, and a directory as its target', ['mirror', '/etc/passwd', '/tmp'], 1, 'EISDIR'],
  ['reload without a path', ['reload', '--', 'true'], 2, 'name at least one PATH'],
  ['reload without an action', ['reload', '/tmp'], 2, 'name one thing to be done'],
  ['two actions', ['reload', '/tmp', '--http', 'http://a', '--', 'true'], 2, 'name one thing to be done'],
  ['no command behind --', ['reload', '/tmp', '--'], 2, 'no COMMAND behind --'],
  ['a signal to nobody', ['reload', '/tmp', '--signal', 'HUP'], 2, 'one of --pid, --pid-file and --process'],
  [
    'a signal to two',
    ['reload', '/tmp', '--signal', 'HUP', '--pid', '1', '--process', 'a'],
    2,
    'one of --pid',
  ],
  ['an unknown signal', ['reload', '/tmp', '--signal', 'HOP', '--pid', '1'], 2, "got 'HOP'"],
  ['a pid of a group', ['reload', '/tmp', '--signal', 'HUP', '--pid=-1'], 2, '--pid takes a whole number'],
  ['a pid without a signal', ['reload', '/tmp', '--pid', '1', '--', 'true'], 2, '--pid needs --signal'],
  [
    'a path as a process',
    ['reload', '/tmp', '--signal', 'HUP', '--process', '/bin/a'],
    2,
    'process must be an',
  ],
  ['an URL that is none', ['reload', '/tmp', '--http', 'localhost:80'], 2, 'http.url must be an URL'],
  ['a rollout of nothing', ['reload', '/tmp', '--rollout', 'web', '--namespace', 'a'], 2, 'Deployment/NAME'],
  ['a rollout of a pod', ['reload', '/tmp', '--rollout', 'Pod/a', '--namespace', 'a'], 2, "got 'Pod'"],
  ['a rollout nowhere', ['reload', '/tmp', '--rollout', 'Deployment/a'], 2, '--rollout needs --namespace'],
  ['a namespace for nothing', ['reload', '/tmp', '--namespace', 'a', '--', 'true'], 2, 'needs --rollout'],
  ['--validate-arg alone', ['reload', '/tmp', '--validate-arg', 'a', '--', 'true'], 2, 'needs --validate'],
  [
    '--once and --listen to reload',
    ['reload', '--once', '--listen', '0', '/a', '--', 'true'],
    2,
    'does not go with',
  ],
  ['a delay that is no number', ['reload', '--delay', '1s', '/a', '--', 'true'], 2, "got '1s'"],
  [
    'a pid that nobody has',
    ['reload', '/tmp', '--signal', 'HUP', '--pid', '2147483646'],
    1,
    'no process has the pid 2147483646',
  ],
  ['publish without anything', ['publish'], 2, 'name a FILE and a DEST, or --touch DIRECTORY alone'],
  ['publish without a DEST', ['publish', '/etc/passwd'], 2, 'name a FILE and a DEST'],
  ['--configmap without a FILE', ['publish', '--configmap', '/tmp'], 2, 'name a FILE and a DIRECTORY'],
  ['--configmap and --touch alone', ['publish', '--configmap', '--touch', '/tmp'], 2, 'name a FILE'],
  [
    'a mode that is none',
    ['publish', '--mode', 'u+x', '/etc/passwd', '/no/x'],
    2,
    "octal digits, as chmod(1) does; got 'u+x'",
  ],
  ['a mode too large', ['publish', '--mode', '10000', '/etc/passwd', '/no/x'], 2, 'octal digits'],
  ['an empty path to publish', ['publish', '', '/no/x'], 2, 'one of the paths is empty'],
  ['an empty --touch', ['publish', '--touch', ''], 2, "--touch takes a path; got ''"],
  [
    'two files of one name',
    ['publish', '/etc/passwd', '/x\x1b/passwd', '/tmp'],
    2,
    "'/etc/passwd' and '/x\\x1b/passwd' have one name",
  ],
  [
    'two keys of one name',
    ['publish', '--configmap', 'a/k', 'b/k', '/no/x'],
    2,
    "'a/k' and 'b/k' have one name",
  ],
  ['stdin as a key', ['publish', '--configmap', '-', '/no/x'], 2, "'-' is stdin and has no name"],
  ['stdin into a directory', ['publish', '-', '/tmp'], 2, "'-' is stdin and has no name"],
  ['stdin twice', ['publish', '-', '-', '/tmp'], 2, 'can be read once'],
  ['to stdin', ['publish', '/etc/passwd', '-'], 2, 'stands before DEST'],
  [
    'several to no directory',
    ['publish', '/etc/passwd', '/etc/group', '/no/such'],
    1,
    'there is no directory /no/such',
  ],
  ['to no directory', ['publish', '/etc/passwd', '/nowhere/'], 1, 'there is no directory /nowhere'],
  ['to no directory below one', ['publish', '/etc/passwd', '/tmp/no/.'], 1, 'there is no directory /tmp/no'],
  ['to a file as a directory', ['publish', '/etc/passwd', '/etc/group/'], 1, 'ENOTDIR'],
  [
    'to touch what is none',
    ['publish', '--touch', '/no/such'],
    1,
    "open '/no/such' (there is no directory /no/such: make it first)",
  ],
  [
    'to publish what is not there',
    ['publish', '/no/such', '/no/x'],
    1,
    "ENOENT: no such file or directory, open '/no/such'",
  ],
  [
    'to publish a directory',
    ['publish', '/etc', '/no/x'],
    1,
    "EISDIR: illegal operation on a directory, read '/etc'",
  ],
  [
    'to publish into nowhere',
    ['publish', '/etc/passwd', '/no/\x1b/x'],
    1,
    "'/no/\\x1b/x' (the directory must exist)",
  ],
  ['nothing to diagnose', ['diagnose', '/no/such'], 1, 'ENOENT'],
  ['ESC in a name', ['diagnose', '/no/\x1b[31msuch'], 1, '\\x1b[31m'],
]

const NUMBERS = {
  watch: ['-t', '-mt', '--timeout', '--settle', '--interval'],
  mirror: ['--interval', '--quiet', '--max-files', '--max-bytes'],
  reload: ['--delay', '--interval', '--retry', '--timeout', '--pid'],
}

for (const [command, flags] of Object.entries(NUMBERS))
  for (const flag of flags) {
    const name = flag.endsWith('t') && !flag.startsWith('--') ? '--timeout' : flag
    const rest =
      flag === '--pid'
        ? ['/a', '--signal', 'HUP']
        : command === 'reload'
          ? ['/a', '--', 'true']
          : ['/a', '/b']
    for (const value of ['-5', '-0.5'])
      WRONG.push([
        `${command} ${flag} ${value}`,
        [command, flag, value, ...rest],
        2,
        `${name} takes a whole number of at least`,
      ])
    if (!name.startsWith('--max'))
      WRONG.push([
        `${command} ${flag} 1e11`,
        [command, flag, '100000000000', ...rest],
        2,
        `${name} takes a whole number of at most`,
      ])
  }

describe('one line on stderr, and the exit code', () => {
  let told: Array<{ code: number; stdout: string; stderr: string }>
  beforeAll(async () => {
    const program = join(import.meta.dirname, 'cases.mjs')
    const input = JSON.stringify(WRONG.map(([, args]) => args))
    const run = promisify(execFile)(process.execPath, [program])
    run.child.stdin?.end(input)
    told = JSON.parse((await run).stdout)
  })

  test.each(WRONG.map(([what, , code, words], n) => ({ what, code, words, n })))(
    '$what',
    ({ code, words, n }) => {
      const { stderr, ...rest } = told[n] ?? { stderr: '' }
      expect(rest).toEqual({ code, stdout: '' })
      expect(stderr).toContain(words)
      expect(stderr.trim().split('\n')).toHaveLength(1)
      // The user of a command knows no functions, nor their options.
      expect(stderr).not.toMatch(/\w\(\)|options\./)
    },
  )

  test('as a process of its own', async () => {
    const { code, stdout, stderr } = await new Run(['watch', '--frob', '/']).ended()
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^inotify-bridge watch: Unknown option '--frob'.*\n$/)
  })

  test('a target inside the source, also behind a symlink', async () => {
    const source = scratch()
    const alias = join(scratch(), 'alias')
    symlinkSync(source, alias)
    for (const target of [join(source, 'target'), join(alias, 'target'), source]) {
      const { code, stderr } = await new Run(['mirror', source, target]).ended()
      expect(stderr).toMatch(/^inotify-bridge mirror: EINVAL: .*\n$/)
      expect(code).toBe(1)
    }
  })

  test('a bad environment names the variable', async () => {
    const environment = { INOTIFY_BRIDGE_BACKEND: 'fanotify' }
    const { code, stderr } = await new Run(['watch', scratch()], { environment }).ended()
    expect(stderr).toMatch(/^inotify-bridge watch: INOTIFY_BRIDGE_BACKEND .*'fanotify'\n$/)
    expect(code).toBe(1)
  })
})

test('a target on no tmpfs: a warning in one line, and it is mirrored', async () => {
  const [source, target] = [scratch(), scratch()]
  writeFileSync(join(source, 'a'), 'x')
  const { code, stderr } = await new Run(['mirror', '--once', '--quiet', '0', source, target]).ended()
  expect(stderr).toMatch(/^inotify-bridge mirror: warning: .*not on a tmpfs.*\n$/)
  expect(code).toBe(0)
})

test.each(['watch', 'watch --recursive'])('%s of a symlink that names itself', async (command) => {
  const loop = join(scratch(), 'loop')
  symlinkSync('loop', loop)
  const { code, stderr } = await new Run([...command.split(' '), loop]).ended()
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^inotify-bridge watch: ELOOP: .*, watch '\S+\/loop'\n$/),
  ])
})
