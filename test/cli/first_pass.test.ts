// The first pass of a mirror: what it says when it is over, when there is too much, and when it fails, where nothing is kept nor tried again.
import { spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mayUnshare } from '../mounts/namespace.ts'
import { AS_NOBODY, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'

const ONCE = ['mirror', '--once', '--interval', '60000', '--quiet', '0']

/** A source of files, and a path in memory at which nothing is. */
function places(files = 0) {
  const [source, target] = [scratch(), join(scratch('/dev/shm'), 'target')]
  for (let n = 0; n < files; n++) writeFileSync(join(source, `f${n}`), 'x')
  return { source, target }
}

test('the first line names what is mirrored to where, the file systems, the interval and how many keys', async () => {
  const { source, target } = places()
  await atomicWrite(source, { a: '1', b: '2', c: '3' })
  const { code, stdout } = await new Run([...ONCE, source, target]).ended()
  const type = spawnSync('stat', ['-f', '-c', '%T', source], { encoding: 'utf8' }).stdout.trim()
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^mirroring (\S+) \(([^,]+), polled every 60000 ms\) to (\S+) \(tmpfs\): 3 keys; ready\n$/,
  )
  expect(stdout).toContain(`mirroring ${source} (${type.slice(0, 3)}`)
  expect(stdout).toContain(` to ${target} `)
})

test('of several sources, and of one file', async () => {
  const [one, two] = [places(1), places()]
  mkdirSync(join(two.source, 'd/e'), { recursive: true })
  writeFileSync(join(two.source, 'd/e/f'), '')
  const { stdout } = await new Run([...ONCE, one.source, two.source, one.target]).ended()
  expect(stdout).toMatch(/^mirroring \S+ \(.*\) \S+ \(.*\) to \S+ \(tmpfs\): 2 keys; ready\n$/)
  const { stdout: ofFile } = await new Run([...ONCE, join(one.source, 'f0'), two.target]).ended()
  expect(ofFile).toMatch(/: 1 key; ready\n$/)
})

describe.each([
  ['files', ['--max-files', '3'], '5 files, at most 3', '--max-files'],
  ['bytes', ['--max-bytes', '4'], '5 bytes, at most 4', '--max-bytes'],
  [
    'both',
    ['--max-files', '3', '--max-bytes', '4'],
    '5 files, at most 3 and 5 bytes, at most 4',
    '--max-files and --max-bytes',
  ],
])('over the limits: %s', (_, flags, reason, raise) => {
  test.each([
    ['link', 'has links, without events'],
    ['hold', 'keeps its last version'],
  ])(
    '%s: which limit, how far, which flag; 1 with --once, and one line on each stream',
    async (mode, outcome) => {
      const { source, target } = places(5)
      const text = `over-limit: ${reason}: ${target} ${outcome} (${raise})`
      const args = [...ONCE, ...flags, '--over-limit', mode, source, target]
      expect(await new Run(args).ended()).toEqual({
        code: 1,
        signal: null,
        stdout: `${text}\n`,
        stderr: `inotify-bridge mirror: ${text}\n`,
      })
      const run = new Run([...args, '--json'])
      const { code, stderr } = await run.ended()
      expect(code).toBe(1)
      expect(run.objects).toEqual([{ event: 'state', state: 'over-limit', reason }])
      expect(JSON.parse(stderr)).toMatchObject({ level: 'error', message: text })
    },
  )
})

test('of many it is said before there is a link', async () => {
  const { source, target } = places(1500)
  const run = new Run(['mirror', '--quiet', '0', source, target])
  await run.until('stderr', /^inotify-bridge mirror: over-limit: 1500 files, at most 1024: .*--max-files\)\n/)
  await run.until('stdout', /^over-limit: 1500 files/)
  expect(lstatSync(join(target, 'f0')).isSymbolicLink()).toBe(true)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
})

test.skipIf(spawnSync('script', ['--version']).status !== 0)(
  'on a terminal it says how far it is',
  async () => {
    const { source, target } = places(3000)
    const command = `'${process.execPath}' '${MAIN}' mirror --once --quiet 0 --max-files 9999 '${source}' '${target}'`
    const { code, stdout } = await new Program('script', ['-qec', command, '/dev/null']).ended()
    expect(code).toBe(0)
    expect(stdout).toMatch(/\rmirroring [\d,]+ entries/)
  },
)

test.each([
  ['a target below nothing', '/nope/x/y', /ENOENT: .*'\/nope\/x\/y' \(make \/nope\/x first\)/],
  ['a target below a file', '/etc/passwd/x', /ENOTDIR: .*a component of the path/],
  ['a target where nothing can be made', '/proc/x', /ENOENT|EPERM|EACCES/],
])('%s: what to do, and nothing of a version that is kept', async (_, target, words) => {
  const { code, stderr } = await new Run([...ONCE, places(1).source, target]).ended()
  expect(code).toBe(1)
  expect(stderr).toMatch(words)
  expect(stderr).not.toMatch(/last good|tried again|tries again/)
})

test.skipIf(!mayUnshare)('a read-only target, and a full one (needs unshare -rm)', async () => {
  const { source } = places(1)
  writeFileSync(join(source, 'big'), 'x'.repeat(100_000))
  const target = scratch()
  const mirrored = (options: string) =>
    new Program('unshare', [
      '-rm',
      'sh',
      '-c',
      `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`,
      target,
      process.execPath,
      MAIN,
      ...ONCE,
      source,
      target,
    ]).ended()
  const readOnly = await mirrored('ro')
  expect([readOnly.code, readOnly.stderr]).toEqual([
    1,
    expect.stringMatching(/^.*EROFS: .*\(is it mounted read-only\?.*\)\n$/),
  ])
  const full = await mirrored('size=64k')
  expect([full.code, full.stderr]).toEqual([1, expect.stringMatching(/^.*ENOSPC: .*\(.* larger size=\)\n$/)])
})

test.skipIf(!mayUnshare)(
  'while it runs it is said that the last version is kept (needs unshare -rm)',
  async () => {
    const { source } = places(1)
    const target = scratch()
    const args = ['mirror', '--json', '--interval', '20', '--quiet', '0', source, target]
    const script = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    const run = new Program('unshare', ['-rm', 'sh', '-c', script, target, process.execPath, MAIN, ...args])
    await run.until('stdout', /mirroring/)
    writeFileSync(join(source, 'f0'), 'x'.repeat(100_000))
    await run.until('stderr', /ENOSPC.*\n/)
    const [first = ''] = run.stderr.split('\n').filter((line) => line.includes('ENOSPC'))
    expect(JSON.parse(first)).toMatchObject({
      level: 'error',
      event: 'error',
      code: 'ENOSPC',
      path: join(target, 'f0'),
      message: expect.stringContaining('the last good version is kept, and each pass tries again'),
    })
    run.kill('SIGTERM')
    expect((await run.ended()).code).toBe(0)
  },
)

test.skipIf(!isRoot).each([
  ['0700', 0o700],
  ['0744', 0o744],
  ['0711', 0o711],
])("another's source of mode %s: its path, and whose rights are wanting (needs root)", async (_, mode) => {
  const { source } = places(1)
  const open = scratch()
  chmodSync(source, mode)
  chmodSync(open, 0o777)
  const args = [...AS_NOBODY, process.execPath, MAIN, ...ONCE, source, join(open, 'target')]
  const { code, stderr } = await new Program('setpriv', args).ended()
  expect(code).toBe(1)
  expect(stderr).toContain(
    `EACCES: permission denied, open '${source}' (the mirror's user must be able to read`,
  )
  expect(readFileSync(join(source, 'f0'), 'utf8')).toBe('x')
})
