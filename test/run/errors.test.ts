// Each sentence that `run` ends with before PROGRAM starts, and what --try makes of it.
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { as, forAll, isRoot, needed, obstacle, RUN, Served, served } from './served.ts'

const mounted = (...words: string[]) => [
  'unshare',
  '-m',
  'sh',
  '-c',
  `${words.join(' && ')} && exec "$@"`,
  'sh',
]

/** Words that are put before `run`, the sentence that `run` says then, and true if only root can have it so. */
const REFUSED: Array<[string, readonly string[], string, boolean?]> = [
  ['another supervisor', [RUN, '--'], 'another supervisor has taken the system calls'],
  ['an old kernel', ['setarch', '--uname-2.6'], 'Linux 5.14 is needed'],
  ['no user notification', [compile('seccomp'), '38', 'seccomp'], 'the kernel refuses a seccomp filter'],
  ['few descriptors', ['prlimit', '--nofile=8'], 'no descriptor is left (EMFILE)'],
  ['one more', ['prlimit', '--nofile=9'], 'no descriptor is left (EMFILE)'],
  ['no instance', [compile('seccomp'), '24', 'inotify_init1'], 'no inotify instance is left for this user'],
  [
    'no place for shadows',
    // As they are, for this clone may lie in one of them.
    mounted(
      ...['/dev/shm', '/tmp', '/run', '/var/tmp'].flatMap((path) => [
        `mount --bind ${path} ${path}`,
        `mount -o remount,bind,ro ${path}`,
      ]),
    ),
    'there is no directory for the shadows of what is watched',
    true,
  ],
  ['no /proc', mounted('mount -t tmpfs none /proc'), 'there is no /proc', true],
]

describe.skipIf(obstacle !== '')(`run cannot serve${obstacle && ` (${obstacle})`}`, () => {
  for (const [name, before, sentence, isForRoot = false] of REFUSED) {
    const lacks = isForRoot && !isRoot
    describe.skipIf(lacks)(`${name}${lacks ? ' (needs root)' : ''}`, () => {
      test('one sentence and 1, and PROGRAM is not started', async () => {
        const program = new Served([...before, RUN, '--', 'echo', 'started'])
        expect(await program.end()).toBe(1)
        expect(program.said).toMatch(/^inotify-bridge run: [^\n]+\n$/)
        expect(program.said).toContain(sentence)
        expect(program.lines).toEqual([])
      })

      test('--try: the sentence, and PROGRAM is started as it would be without', async () => {
        const script = 'echo started; exit 9'
        const program = new Served([...before, RUN, '--try', '--', 'sh', '-c', script])
        expect(await program.end()).toBe(9)
        expect(program.said).toContain(sentence)
        expect(program.said).toMatch(/; it is started without\n$/)
        expect(program.lines).toEqual(['started'])
      })
    })
  }

  test.skipIf(!isRoot)(`a program that takes rights${needed}`, async () => {
    const { place, run } = forAll()
    const taking = join(place, 'id')
    copyFileSync('/usr/bin/id', taking)
    chmodSync(taking, 0o4755)
    for (const words of [
      [run, '--', taking],
      ['env', `PATH=/nowhere:${place}:/usr/bin`, run, '--', 'id'],
      ['env', '-u', 'PATH', run, '--', 'su'],
    ]) {
      const program = new Served([...as(65_534), ...words])
      expect(await program.end()).toBe(1)
      expect(program.said).toContain('PROGRAM takes rights when it starts (set-user-ID')
    }
    const tried = new Served([...as(65_534), run, '--try', '--', taking, '-u'])
    expect(await tried.end()).toBe(0)
    // The program has the rights that it takes.
    expect(tried.lines).toEqual(['0'])
    // The owner of the program takes no rights by it.
    expect(await served([], taking).end()).toBe(0)
  })

  test('PROGRAM is not found: 127', async () => {
    const program = served([], 'no-such-program')
    expect(await program.end()).toBe(127)
    expect(program.said).toBe('inotify-bridge run: no-such-program: ENOENT: it is not found\n')
  })

  test('PROGRAM cannot be executed: 126', async () => {
    const file = join(scratch(), 'file')
    writeFileSync(file, '')
    const program = served([], file)
    expect(await program.end()).toBe(126)
    expect(program.said).toBe(`inotify-bridge run: ${file}: EACCES: it cannot be executed\n`)
  })

  test.each([
    [[], 'write the program behind --'],
    [['--'], 'write the program behind --'],
    [['true'], 'write the program behind --, as in: inotify-bridge run -- true'],
    [['--no-such', '--', 'true'], 'unknown option --no-such'],
    [['--interval'], 'there is no value behind --interval'],
    ...['0', '-1', '86400001', '1s', '', '18446744073709551617'].map((word): [string[], string] => [
      ['--interval', word, '--', 'true'],
      `--interval takes milliseconds, from 1 to 86400000, and not ${word}`,
    ]),
    [['--on-failure', 'x', '--', 'true'], "--on-failure takes 'continue' or 'end', and not x"],
    [['--backend', 'kqueue', '--', 'true'], "--backend takes 'auto', 'inotify' or 'poll', and not kqueue"],
  ])('wrong options: %j', async (words, sentence) => {
    const program = new Served([RUN, ...words])
    expect(await program.end()).toBe(2)
    expect(program.said).toBe(`inotify-bridge run: ${sentence}${program.said.slice(20 + sentence.length)}`)
    expect(program.said).toMatch(/ \(see 'inotify-bridge run --help'\)\n$/)
  })
})
