import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { Program, Run } from './command.ts'

const isInstalled = spawnSync('inotifywait', ['--help']).error === undefined

// Events that report changes. Only --raw reports the rest of inotifywait's events.
const EVENTS = 'create,modify,attrib,close_write,moved_from,moved_to,delete'

/** Returns what inotifywait and the command print, side by side, of the same operations in WORK/d. */
async function sideBySide(
  args: string[],
  operate: (directory: string) => void,
  last = /the-end/,
): Promise<[string, string]> {
  const work = scratch()
  const directory = join(work, 'd')
  mkdirSync(directory)
  const peer = new Program('inotifywait', ['-m', ...args], { cwd: work })
  await peer.until('stderr', /Watches established/)
  const run = await Run.watching(['-m', ...args], { cwd: work })
  operate(directory)
  mkdirSync(join(directory, 'the-end'))
  await peer.until('stdout', /the-end/)
  await run.until('stdout', last)
  run.kill('SIGINT')
  await run.ended()
  return [peer.stdout, run.stdout]
}

function everyOperation(d: string): void {
  const at = (name: string) => join(d, name)
  writeFileSync(at('a'), '') // CREATE, CLOSE_WRITE
  writeFileSync(at('b c'), 'text') // CREATE, MODIFY, CLOSE_WRITE
  appendFileSync(at('a'), 'text')
  chmodSync(at('a'), 0o600)
  truncateSync(at('b c'), 1)
  renameSync(at('a'), at('a,"quoted"'))
  renameSync(at('a,"quoted"'), at('b c')) // over a file
  mkdirSync(at('sub'))
  chmodSync(at('sub'), 0o700)
  writeFileSync(at('sub/unseen'), '')
  renameSync(at('sub'), at('sub2'))
  renameSync(at('sub2/unseen'), at(' é ')) // into what is watched
  linkSync(at(' é '), at('hard'))
  symlinkSync('nowhere', at('link'))
  execFileSync('mkfifo', [at('pipe')])
  unlinkSync(at('hard'))
  unlinkSync(at('link'))
  unlinkSync(at('pipe'))
  unlinkSync(at(' é '))
  unlinkSync(at('b c'))
  rmdirSync(at('sub2'))
}

describe.runIf(isInstalled)('the same output as inotifywait (where it is installed)', () => {
  test.each([
    ['by default', ['-e', EVENTS, 'd']],
    ['a path with slashes', ['-e', EVENTS, './/d/']],
    ['a path that goes up', ['-e', EVENTS, 'd/../d']],
    ['. as path', ['-e', 'create,delete,move', 'd', '.']],
    ['--format', ['-e', EVENTS, '--format', '[%w|%f|%e|%:e|%,e|%%e|%n%%]', 'd']],
    ['--timefmt', ['-e', EVENTS, '--format', '%T %w%f', '--timefmt', '%Y-%m %%', 'd']],
    ['%0 and --no-newline', ['-e', EVENTS, '--format', '%w%f%0%e%0', '--no-newline', 'd']],
    ['several -e', ['-e', 'close_write', '-e', 'moved_to,create', 'd']],
    ['-e close', ['-e', 'close,create', 'd']],
    ['--exclude', ['-e', EVENTS, '--exclude', '^d/(hard|sub$)', 'd']],
    ['--excludei', ['-e', EVENTS, '--excludei', 'SUB', 'd']],
    ['--include', ['-e', EVENTS, '--include', '[abd]$', 'd']],
    ['--includei', ['-e', EVENTS, '--includei', 'SUB|THE-END', 'd']],
  ])('%s', async (_, args) => {
    // -e close tells inotifywait of directories that are read, too: nothing changes.
    const [expected, printed] = await sideBySide(args, everyOperation)
    const changes = expected.replace(/^.*CLOSE_NOWRITE.*\n/gm, '')
    expect(printed).toBe(changes)
    expect(changes).toMatch(/CREATE|MOVED_TO|20\d\d/)
  })

  test('%c tells which lines belong together, and is 0 elsewhere', async () => {
    const [expected, printed] = await sideBySide(['-e', EVENTS, '--format', '%c %e %f', 'd'], everyOperation)
    expect(pairs(printed)).toEqual(pairs(expected))
    expect(pairs(printed)).toContainEqual(['MOVED_FROM a', 'MOVED_TO a,"quoted"'])
  })

  // A rename's second half may be on the way: that there is none is known, and told, when what was queued behind has been read.
  test('what is moved out of what is watched, though it is told later', async () => {
    const work = scratch()
    const [expected, printed] = await sideBySide(
      ['-e', EVENTS, 'd'],
      (directory) => {
        writeFileSync(join(directory, 'f'), '')
        renameSync(join(directory, 'f'), join(work, 'f'))
      },
      /MOVED_FROM f/,
    )
    expect(sorted(printed)).toEqual(sorted(expected))
  })
})

function sorted(output: string): string[] {
  return output.split('\n').sort()
}

/** The lines of '%c %e %f' that have a cookie in common. One alone has none of ours: its other half is not to be seen. */
function pairs(output: string): string[][] {
  const byCookie = new Map<string, string[]>()
  for (const line of output.split('\n')) {
    const [, cookie = '0', rest = ''] = /^([0-9a-f]+) (.*)$/.exec(line) ?? []
    if (cookie !== '0') byCookie.set(cookie, [...(byCookie.get(cookie) ?? []), rest])
  }
  return [...byCookie.values()].filter((lines) => lines.length > 1)
}
