import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { IN_CREATE } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'

const EVENTS = 'create,modify,attrib,close_write,moved_from,moved_to,delete'

/** A directory with these directories in it, all that lead to them too. */
function tree(...directories: string[]): string {
  const work = scratch()
  for (const directory of directories) mkdirSync(join(work, directory), { recursive: true })
  return work
}

describe('-r', () => {
  test('what lies below, with its directory as inotifywait has it', async () => {
    const work = tree('d/a/b')
    const run = await Run.watching(['-mr', '-e', EVENTS, 'd/'], { cwd: work })
    writeFileSync(join(work, 'd/top'), '')
    writeFileSync(join(work, 'd/a/b/deep'), 'x')
    await run.until('stdout', /d\/a\/b\/ CLOSE_WRITE,CLOSE deep/)
    expect(run.lines).toEqual([
      'd/ CREATE top',
      'd/ CLOSE_WRITE,CLOSE top',
      'd/a/b/ CREATE deep',
      'd/a/b/ MODIFY deep',
      'd/a/b/ CLOSE_WRITE,CLOSE deep',
    ])
  })

  test('what is made at once in a directory that was just made, each once', async () => {
    const work = tree('d')
    const run = await Run.watching(['-mr', '-e', 'create', 'd'], { cwd: work })
    mkdirSync(join(work, 'd/a/b/c'), { recursive: true })
    writeFileSync(join(work, 'd/a/b/c/f'), '')
    await run.until('stdout', /d\/a\/b\/c\/ CREATE f/)
    mkdirSync(join(work, 'd/end'))
    await run.until('stdout', /CREATE,ISDIR end/)
    expect(run.lines).toEqual([
      'd/ CREATE,ISDIR a',
      'd/a/ CREATE,ISDIR b',
      'd/a/b/ CREATE,ISDIR c',
      'd/a/b/c/ CREATE f',
      'd/ CREATE,ISDIR end',
    ])
  })

  test('a directory that is renamed is watched under its new name', async () => {
    const work = tree('d/a/b')
    const run = await Run.watching(['-mr', '-e', 'move,create', 'd'], { cwd: work })
    renameSync(join(work, 'd/a'), join(work, 'd/z'))
    await run.until('stdout', /MOVED_TO,ISDIR z/)
    mkdirSync(join(work, 'd/z/b/new'))
    await run.until('stdout', /new/)
    expect(run.lines).toEqual(['d/ MOVED_FROM,ISDIR a', 'd/ MOVED_TO,ISDIR z', 'd/z/b/ CREATE,ISDIR new'])
  })

  test('a tree that is moved in: each entry', async () => {
    const work = tree('d', 'outside/a')
    writeFileSync(join(work, 'outside/a/f'), '')
    const run = await Run.watching(['-mr', '-e', 'create,moved_to', 'd'], { cwd: work })
    renameSync(join(work, 'outside'), join(work, 'd/in'))
    await run.until('stdout', /d\/in\/a\/ (CREATE|MOVED_TO) f\n/)
    expect(run.lines[0]).toBe('d/ MOVED_TO,ISDIR in')
    expect(run.lines).toHaveLength(3)
  })

  test('--initial: all that is there, once', async () => {
    const work = tree('d/a')
    writeFileSync(join(work, 'd/a/f'), '')
    const run = await Run.watching(['-mr', '--initial', '-e', 'create', 'd'], { cwd: work })
    mkdirSync(join(work, 'd/end'))
    await run.until('stdout', /CREATE,ISDIR end/)
    expect(run.lines).toEqual(['d/ CREATE,ISDIR a', 'd/a/ CREATE f', 'd/ CREATE,ISDIR end'])
  })
})

describe('what is left out is not even opened', () => {
  test('--exclude', async () => {
    const work = tree('d/out/deep', 'd/in')
    const args = ['-e', 'create', '--backend', 'inotify', 'd', '--exclude', '^d/out/']
    const run = await Run.watching(['-mr', ...args], { cwd: work })
    // d and d/in
    expect(watches(run.pid)).toBe(2)
    mkdirSync(join(work, 'd/out/new'))
    mkdirSync(join(work, 'd/in/new'))
    await run.until('stdout', /new/)
    expect(run.lines).toEqual(['d/in/ CREATE,ISDIR new'])
  })

  test('but a pattern that matches the name without its slash hides that alone, as in inotifywait', async () => {
    const work = tree('d')
    const run = await Run.watching(['-mr', '-e', 'create', '--exclude', 'sub$', 'd'], { cwd: work })
    mkdirSync(join(work, 'd/sub/new'), { recursive: true })
    await run.until('stdout', /new/)
    expect(run.lines).toEqual(['d/sub/ CREATE,ISDIR new'])
  })

  test('and --include leaves no directory out', async () => {
    const work = tree('d/a/b')
    const run = await Run.watching(['-mr', '-e', 'create', '--include', '\\.js$', 'd'], { cwd: work })
    for (const name of ['f.md', 'f.js']) writeFileSync(join(work, 'd/a/b', name), '')
    await run.until('stdout', /f\.js/)
    expect(run.lines).toEqual(['d/a/b/ CREATE f.js'])
  })
})

describe('other paths', () => {
  test('a file: %w is the file and %f is empty', async () => {
    const work = tree('d')
    writeFileSync(join(work, 'd/f'), '')
    const run = await Run.watching(['-m', '-e', 'modify,close_write', 'd/f'], { cwd: work })
    appendFileSync(join(work, 'd/f'), 'x')
    await run.until('stdout', /CLOSE_WRITE/)
    expect(run.stdout).toBe('d/f MODIFY \nd/f CLOSE_WRITE,CLOSE \n')
  })

  test('--follow goes behind links, under their names', async () => {
    const work = tree('d', 'behind')
    symlinkSync('../behind', join(work, 'd/link'))
    const run = await Run.watching(['-mr', '--follow', '-e', 'create', 'd'], { cwd: work })
    mkdirSync(join(work, 'behind/new'))
    await run.until('stdout', /^d\/link\/ CREATE,ISDIR new\n$/)
  })

  test('--settle waits until a file is quiet', async () => {
    const work = tree('d')
    writeFileSync(join(work, 'd/f'), '')
    const run = await Run.watching(['-m', '-e', 'modify', '--settle', '100', 'd'], { cwd: work })
    for (let i = 0; i < 5; i++) appendFileSync(join(work, 'd/f'), 'x')
    await run.until('stdout', /MODIFY f/)
    run.kill('SIGINT')
    expect((await run.ended()).stdout).toBe('d/ MODIFY f\n')
  })
})

/** Resolves when a process has a watch on a directory: /proc/PID/fdinfo tells the inodes (proc_pid_fdinfo(5)). */
async function hasWatchOn(pid: number, path: string): Promise<void> {
  const inode = ` ino:${statSync(path).ino.toString(16)} `
  const infos = () => readdirSync(`/proc/${pid}/fdinfo`).map((fd) => `/proc/${pid}/fdinfo/${fd}`)
  const hasIt = () => infos().some((info) => readFileSync(info, 'utf8').includes(inode))
  // A descriptor that is closed meanwhile is ENOENT, and asked for again.
  await expect.poll(hasIt, { timeout: 60_000 }).toBe(true)
}

test.runIf(spawnSync('inotifywait', ['--help']).error === undefined)(
  'the same output as inotifywait -r (where it is installed)',
  async () => {
    const work = tree('d/a/b', 'd/c')
    const args = ['-mr', '-e', EVENTS, 'd']
    const peer = new Program('inotifywait', args, { cwd: work })
    await peer.until('stderr', /Watches established/)
    const run = await Run.watching(args, { cwd: work })
    const seen = async (pattern: RegExp) => {
      for (const one of [peer, run]) await one.until('stdout', pattern)
    }
    writeFileSync(join(work, 'd/a/b/f'), 'text')
    renameSync(join(work, 'd/a/b/f'), join(work, 'd/c/g'))
    mkdirSync(join(work, 'd/new'))
    await seen(/ISDIR new/)
    // inotifywait misses what is made before it has a watch, and ours tells of it when it has found it.
    for (const one of [peer, run]) await hasWatchOn(one.pid, join(work, 'd/new'))
    writeFileSync(join(work, 'd/new/h'), '')
    renameSync(join(work, 'd/new'), join(work, 'd/a/moved'))
    writeFileSync(join(work, 'd/c/end'), '')
    await seen(/CLOSE_WRITE,CLOSE end/)
    expect(run.stdout).toBe(peer.stdout)
  },
)

test.runIf(spawnSync('script', ['--version']).error === undefined)(
  'a line on the terminal tells how far it is (where script(1) is installed)',
  async () => {
    const work = scratch('/dev/shm')
    for (let i = 0; i < 300; i++)
      for (let j = 0; j < 200; j++) mkdirSync(join(work, `${i}/${j}`), { recursive: true })
    const command = `exec ${process.execPath} ${MAIN} watch -mr ${work}`
    const terminal = new Program('script', ['-qefc', command, '/dev/null'])
    await terminal.until('stdout', /Watches established: 60,301 directories/)
    expect(terminal.stdout).toMatch(/\rsetting up watches: [1-9][\d,]* directories/)
  },
)

/** How many directories the process watches for what comes up in them (IN_CREATE), and not only for their own end. */
function watches(pid: number): number {
  const infos = readdirSync(`/proc/${pid}/fdinfo`).map((fd) => {
    try {
      return readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')
    } catch {
      // Closed since the directory was read.
      return ''
    }
  })
  const masks = [...infos.join('').matchAll(/^inotify wd:.* mask:([0-9a-f]+)/gm)].map(
    ([, mask]) => `0x${mask}`,
  )
  return masks.filter((mask) => Number(mask) & IN_CREATE).length
}
