import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STRANGE_NAMES, watched } from '../publish/watched.ts'
import { giveAway } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'

const read = (...path: string[]) => readFileSync(join(...path), 'utf8')

/** Two files beside an empty directory. */
function files() {
  const home = scratch()
  const target = join(home, 'target')
  mkdirSync(target)
  const [one, two] = [join(home, 'one'), join(home, 'two')]
  writeFileSync(one, '1')
  writeFileSync(two, '2')
  return { home, target, one, two }
}

test('a file: one IN_MOVED_TO, a line, and the file stays', async () => {
  const { target, one } = files()
  const { eventsOf } = watched(target, true)
  const path = join(target, 'dest')
  expect(await new Run(['publish', one, path]).ended()).toMatchObject({
    code: 0,
    stdout: `published ${path}\n`,
    stderr: '',
  })
  expect(await eventsOf('dest')).toEqual(['IN_MOVED_TO dest'])
  expect([read(path), read(one)]).toEqual(['1', '1'])
  expect(statSync(path).mode & 0o7777).toBe(0o644)
})

test('several into a directory, under their names; --mode, --json', async () => {
  const { home, target, one, two } = files()
  const run = new Run(['publish', '--json', '--mode', '0600', one, two, `${target}//`])
  expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
  expect(run.objects).toEqual([
    { event: 'published', path: join(target, 'one'), bytes: 1 },
    { event: 'published', path: join(target, 'two'), bytes: 1 },
  ])
  expect(statSync(join(target, 'two')).mode & 0o7777).toBe(0o600)
  symlinkSync(target, join(home, 'link'))
  expect((await new Run(['publish', two, join(home, 'link')]).ended()).stdout).toBe(
    `published ${home}/link/two\n`,
  )
})

test('a new file gives nobody a right that FILE does not; one that is there keeps its mode, --mode decides', async () => {
  const { home, target, one, two } = files()
  const modeOf = (...path: string[]) => statSync(join(...path)).mode & 0o7777
  const publish = async (...args: string[]) =>
    expect((await new Run(['publish', ...args]).ended()).code).toBe(0)
  chmodSync(one, 0o600)
  chmodSync(two, 0o6775)
  await publish(one, two, target)
  expect([modeOf(target, 'one'), modeOf(target, 'two')]).toEqual([0o600, 0o644])
  chmodSync(join(target, 'one'), 0o640)
  await publish(one, target)
  await publish('--mode', '444', two, target)
  expect([modeOf(target, 'one'), modeOf(target, 'two')]).toEqual([0o640, 0o444])
  // stdin that is a file has a mode as well; a pipe has none that would say anything.
  const shell = new Program('sh', [
    '-c',
    '"$0" "$1" publish - "$3" <"$2"',
    process.execPath,
    MAIN,
    one,
    join(target, 'stdin'),
  ])
  expect((await shell.ended()).code).toBe(0)
  expect(modeOf(target, 'stdin')).toBe(0o600)
  expect((await new Run(['publish', '-', join(target, 'pipe')], { input: 'x' }).ended()).code).toBe(0)
  expect(modeOf(target, 'pipe')).toBe(0o644)

  const map = join(home, 'map')
  await publish('--configmap', one, map)
  expect([modeOf(map), modeOf(map, '..data/'), modeOf(map, 'one')]).toEqual([0o700, 0o700, 0o600])
  await publish('--configmap', one, two, map)
  expect([modeOf(map, '..data/'), modeOf(map, 'one'), modeOf(map, 'two')]).toEqual([0o755, 0o600, 0o644])
  writeFileSync(one, 'other')
  await publish('--configmap', '--mode', '640', one, two, map)
  expect([modeOf(map, '..data/'), modeOf(map, 'one'), modeOf(map, 'two')]).toEqual([0o750, 0o640, 0o640])
})

test.skipIf(process.getuid?.() !== 0)(
  'of a file whose group is another the group gets no more than all others do (needs root)',
  async () => {
    const { home, target, one, two } = files()
    const same = join(home, 'same')
    mkdirSync(same)
    chownSync(same, 0, 1234)
    // Its group is that of what is made in it.
    chmodSync(same, 0o2755)
    for (const [file, mode] of [
      [one, 0o640],
      [two, 0o644],
    ] as const) {
      chownSync(file, 0, 1234)
      chmodSync(file, mode)
    }
    const modes = (...path: string[]) =>
      ['one', 'two'].map((name) => statSync(join(...path, name)).mode & 0o7777)
    for (const directory of [target, same]) await new Run(['publish', one, two, directory]).ended()
    expect([modes(target), modes(same)]).toEqual([
      [0o600, 0o644],
      [0o640, 0o644],
    ])
    await new Run(['publish', '--configmap', one, two, join(home, 'map')]).ended()
    expect(modes(home, 'map')).toEqual([0o600, 0o644])
  },
)

test('one that is missing: none is published', async () => {
  const { target, one } = files()
  const { code, stdout } = await new Run(['publish', one, join(target, 'missing'), target]).ended()
  expect([code, stdout, readdirSync(target)]).toEqual([1, '', []])
})

test('stdin, all of it; one that is interrupted is not published', async () => {
  const { target } = files()
  const path = join(target, 'dest')
  expect((await new Run(['publish', '-', path], { input: 'x'.repeat(100_000) }).ended()).code).toBe(0)
  expect(read(path)).toBe('x'.repeat(100_000))
  const run = new Run(['publish', '-', path], { input: null })
  // More than a pipe holds: it reads.
  await run.write('half'.repeat(1_000_000))
  run.kill('SIGTERM')
  const { code, stderr } = await run.ended()
  expect([code, stderr]).toEqual([
    1,
    'inotify-bridge publish: interrupted before stdin had ended: nothing was published\n',
  ])
  expect(read(path)).toBe('x'.repeat(100_000))
})

test('--configmap: the layout; the same again is unchanged; keys go', async () => {
  const { home, one, two } = files()
  const target = join(home, 'new')
  const publish = async (...args: string[]) =>
    (await new Run(['publish', '--configmap', ...args]).ended()).stdout
  expect(await publish(one, two, target)).toBe(`published ${target}: one two\n`)
  expect(readlinkSync(join(target, 'one'))).toBe('..data/one')
  expect(await publish(one, two, target)).toBe(`unchanged ${target}: one two\n`)
  expect(JSON.parse(await publish('--json', two, target))).toEqual({
    event: 'published',
    path: target,
    keys: ['two'],
    changed: true,
  })
  expect(existsSync(join(target, 'one'))).toBe(false)
})

test("--touch: an IN_MOVED_TO of a name that is always the same, as Envoy's watched_directory wants it", async () => {
  const { home, target, one } = files()
  const other = join(home, 'other')
  mkdirSync(other)
  const { eventsOf } = watched(target, true)
  const name = '.inotify-bridge.touch'
  for (let round = 0; round < 2; round++) {
    const { code, stdout } = await new Run(['publish', '--touch', target]).ended()
    expect([code, stdout]).toEqual([0, `touched ${target}\n`])
    expect(await eventsOf(name)).toEqual([`IN_MOVED_TO ${name}`])
  }
  const run = new Run(['publish', '--json', '--touch', target, '--touch', other, one, join(home, 'dest')])
  await run.ended()
  expect(run.objects).toEqual([
    { event: 'published', path: join(home, 'dest'), bytes: 1 },
    { event: 'touched', path: target, name },
    { event: 'touched', path: other, name },
  ])
  expect(readdirSync(target).filter((entry) => !entry.startsWith('mark-'))).toEqual([name])
})

test('a directory to touch that is none: nothing is published', async () => {
  const { home, target, one } = files()
  expect((await new Run(['publish', '--touch', join(home, 'no'), one, target]).ended()).code).toBe(1)
  expect(readdirSync(target)).toEqual([])
})

test.skipIf(process.getuid?.() !== 0)(
  "another's symlink in a sticky directory is not followed to a DIRECTORY (needs root)",
  async () => {
    const { home, target, one } = files()
    const shared = join(home, 'shared')
    mkdirSync(shared)
    chmodSync(shared, 0o1777)
    const link = join(shared, 'conf')
    symlinkSync(target, link)
    giveAway(link)
    for (const args of [
      [one, link],
      ['--touch', link],
      ['--configmap', one, link],
    ]) {
      const { code, stderr } = await new Run(['publish', ...args]).ended()
      expect([code, stderr]).toEqual([1, expect.stringContaining('a symlink that another user has laid')])
    }
    expect(readdirSync(target)).toEqual([])
  },
)

test.skipIf(spawnSync('mkfifo', ['--version']).status !== 0)(
  'what takes the name of a DIRECTORY after the start is not published to',
  async () => {
    const { home, target } = files()
    const [fifo, other, away] = [join(home, 'fifo'), join(home, 'other'), join(home, 'away')]
    mkdirSync(other)
    spawnSync('mkfifo', [fifo])
    // Its redirection waits until the command opens the FIFO.
    const exchange = spawn('sh', [
      '-c',
      '{ mv "$1" "$2"; ln -s "$3" "$1"; echo x; } >"$4"',
      'sh',
      target,
      away,
      other,
      fifo,
    ])
    const ended = once(exchange, 'exit')
    expect((await new Run(['publish', '--touch', target, fifo, target]).ended()).code).toBe(0)
    expect(await ended).toEqual([0, null])
    expect(readdirSync(away).sort()).toEqual(['.inotify-bridge.touch', 'fifo'])
    expect(readdirSync(other)).toEqual([])
  },
)

test('names are never interpreted, and escaped in what is printed', async () => {
  const { home, target } = files()
  for (const name of STRANGE_NAMES) writeFileSync(join(home, name), name)
  const { code, stdout, stderr } = await new Run(['publish', '--', ...STRANGE_NAMES, target], {
    cwd: home,
  }).ended()
  expect([code, stderr]).toEqual([0, ''])
  expect(readdirSync(target).sort()).toEqual([...STRANGE_NAMES].sort())
  expect(stdout.trim().split('\n')).toHaveLength(STRANGE_NAMES.length)
  expect(stdout).not.toMatch(/\x1b/)
  expect(stdout).toContain('new\\nline')
  expect(stdout).toContain('\\x1b[31mred')
  const configmap = join(home, 'map')
  const run = new Run(['publish', '--json', '--configmap', '--', ...STRANGE_NAMES, configmap], { cwd: home })
  await run.ended()
  expect(run.objects[0]).toMatchObject({ keys: STRANGE_NAMES })
  expect(run.stdout).not.toMatch(/\x1b/)
  for (const name of STRANGE_NAMES) expect(read(configmap, name)).toBe(name)
})

test.skipIf(spawnSync('mkfifo', ['--version']).status !== 0)(
  'a signal ends it while it waits for what nobody writes',
  async () => {
    const { home, target } = files()
    const fifo = join(home, 'fifo')
    spawnSync('mkfifo', [fifo])
    const run = new Run(['publish', fifo, join(target, 'dest')])
    await expect.poll(() => waitsForFifo(run.pid), { timeout: 60_000 }).toBe(true)
    run.kill('SIGTERM')
    expect(await run.ended()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('interrupted before its input had ended'),
    })
    expect(readdirSync(target)).toEqual([])
  },
)

test.skipIf(spawnSync('flock', ['--version']).status !== 0)(
  'a signal ends it while it waits for another publisher',
  async () => {
    const { target, one } = files()
    const holder = new Program('flock', ['--no-fork', target, 'sh', '-c', 'echo locked; exec sleep 60'])
    await holder.until('stdout', /locked/)
    const run = new Run(['publish', '--configmap', one, target])
    await run.until('stderr', /somebody else has held a lock/)
    run.kill('SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 1, stderr: expect.stringContaining('ended by a signal') })
    expect(readdirSync(target)).toEqual([])
  },
)

/** Returns true if a thread is in wait_for_partner() of fs/pipe.c. */
function waitsForFifo(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).some((task) =>
    readFileSync(`/proc/${pid}/task/${task}/wchan`, 'utf8').includes('wait_for_partner'),
  )
}
