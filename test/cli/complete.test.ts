// A target with less than a complete version of every source is not ready: exit codes, --ready-file, --listen.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mayUnshare } from '../mounts/namespace.ts'
import { rounds } from '../support/long.ts'
import { AS_NOBODY, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'
import { mayServeFuse, runInPlace, silentMount } from './in_place.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }
const FAST = ['mirror', '--interval', '20', '--quiet', '0']
/** One pass, which is not said to have taken longer than the interval on a busy machine. */
const ONCE = ['mirror', '--interval', '60000', '--quiet', '0', '--once']

/** Words in front of a command, to run as a user who may not read what only the owner may: root becomes another user. */
const SOMEBODY = isRoot ? ['setpriv', ...AS_NOBODY] : []

function asSomebody(args: readonly string[]): Program {
  const [program = '', ...rest] = [...SOMEBODY, process.execPath, MAIN, ...args]
  return new Program(program, rest)
}

/** Options with which a run tells whether it is ready in both ways. */
const probed = (ready: string) => ['--json', '--ready-file', ready, '--listen', '127.0.0.1:0']

/** Returns the answer of a run with those options to a probe. */
async function readiness(run: Program): Promise<[status: number, text: string]> {
  const url = String(run.objects.find(({ event }) => event === 'listening')?.url)
  const answer = await fetch(`${url}/readyz`)
  return [answer.status, await answer.text()]
}

/** A Secret of two keys, one of which may not be read, and an empty target. */
async function secret() {
  const [source, target] = [scratch(), scratch('/dev/shm')]
  chmodSync(source, 0o755)
  chmodSync(target, 0o777)
  await atomicWrite(source, { 'tls.crt': 'public', 'tls.key': 'private' })
  chmodSync(join(source, '..data/tls.key'), isRoot ? 0o600 : 0)
  return { source, target }
}

/** Ways in which a source lacks something from the first pass on; `wanting` matches the report. */
const INCOMPLETE = {
  'a key that may not be read': { make: secret, wanting: /\.\.data\/tls\.key: EACCES: permission denied/ },
  'a ..data that leads nowhere': {
    make: async () => {
      const made = await secret()
      await rm(join(made.source, readlinkSync(join(made.source, '..data'))), { recursive: true })
      writeFileSync(join(made.source, 'flat'), 'beside it')
      return made
    },
    wanting: /\.\.data: leads to \.\.2\S*, which is not there/,
  },
  'a file that may not be read': {
    make: async () => {
      const [source, target] = [scratch(), scratch('/dev/shm')]
      chmodSync(source, 0o755)
      chmodSync(target, 0o777)
      for (const name of ['may', 'not']) writeFileSync(join(source, name), name)
      chmodSync(join(source, 'not'), isRoot ? 0o600 : 0)
      return { source, target }
    },
    wanting: /not: EACCES: permission denied/,
  },
} as const

describe.each(Object.entries(INCOMPLETE))('%s', (_, { make, wanting }) => {
  test.each([1, 3])('of %i sources: --once is 1, and says what is missing', async (sources) => {
    const { source, target } = await make()
    const others = await Promise.all(
      Array.from({ length: sources - 1 }, async (_, n) => {
        const other = scratch()
        chmodSync(other, 0o755)
        await atomicWrite(other, { [`other${n}`]: 'there' })
        return other
      }),
    )
    const run = asSomebody([...FAST, '--once', source, ...others, target])
    const { code, stderr } = await run.ended()
    expect(code).toBe(1)
    const [last] = stderr.trimEnd().split('\n').slice(-1)
    expect(last).toMatch(/^inotify-bridge mirror: incomplete: /)
    expect(last).toMatch(wanting)
    for (const n of others.keys()) expect(readFileSync(join(target, `other${n}`), 'utf8')).toBe('there')
  })

  test('is not ready, and is when it is mended', async () => {
    const { source, target } = await make()
    const ready = join(scratch(), 'ready')
    chmodSync(join(ready, '..'), 0o777)
    const run = asSomebody([...FAST, ...probed(ready), source, target])
    await run.until('stdout', /"skipped".*\n/)
    const probe = () => readiness(run)
    expect(await probe()).toEqual([503, expect.stringMatching(/^incomplete: .+\n$/)])
    expect((await probe())[1]).toMatch(wanting)
    expect(existsSync(ready)).toBe(false)
    if (existsSync(join(source, 'not'))) chmodSync(join(source, 'not'), 0o644)
    else await unlink(join(source, '..data'))
    if (existsSync(join(source, 'tls.key')) || readdirSync(source).includes('tls.key'))
      await atomicWrite(source, { 'tls.crt': 'public', 'tls.key': 'private' })
    await expect.poll(probe, PATIENCE).toEqual([200, 'ok\n'])
    await expect.poll(() => existsSync(ready), PATIENCE).toBe(true)
    run.kill('SIGTERM')
    expect((await run.ended()).code).toBe(0)
  })
})

test('what was complete once is ready on: the last good version stays', async () => {
  const { source, target } = await secret()
  chmodSync(join(source, '..data/tls.key'), 0o644)
  const ready = join(scratch(), 'ready')
  chmodSync(join(ready, '..'), 0o777)
  const run = asSomebody([...FAST, '--ready-file', ready, source, target])
  await expect.poll(() => existsSync(ready), PATIENCE).toBe(true)
  await rm(join(source, readlinkSync(join(source, '..data'))), { recursive: true })
  await run.until('stdout', /skipped \.\.data: leads to/)
  expect(existsSync(ready)).toBe(true)
  expect(readFileSync(join(target, 'tls.key'), 'utf8')).toBe('private')
})

test('what is never mirrored is not missing: links that lead outside', async () => {
  const { source, target } = await secret()
  chmodSync(join(source, '..data/tls.key'), 0o644)
  await symlink('/etc/passwd', join(source, 'outside'))
  expect(await new Run([...ONCE, source, target]).ended()).toMatchObject({ code: 0, stderr: '' })
})

test('over the limits from the start, held: --once is 1, and it is not ready', async () => {
  const { source, target } = await secret()
  const limits = ['--max-files', '1', '--over-limit', 'hold']
  const { code, stderr } = await new Run([...ONCE, ...limits, source, target]).ended()
  const said = `over-limit: 2 files, at most 1: ${target} keeps its last version (--max-files)`
  expect([code, stderr]).toEqual([1, `inotify-bridge mirror: ${said}\n`])
  const ready = join(scratch(), 'ready')
  const run = new Run([...FAST, ...probed(ready), ...limits, source, target])
  await run.until('stdout', /"state".*\n/)
  expect(await readiness(run)).toEqual([503, 'over-limit: 2 files, at most 1\n'])
  expect(existsSync(ready)).toBe(false)
})

const KEYS = rounds(process.env.KEYS, { quick: 100, long: 250 })

describe.skipIf(!mayUnshare)('--in-place (needs unshare -rm)', () => {
  test('a ..data that leads nowhere: 1, and the command is not started', async () => {
    const source = scratch()
    await symlink('..gone', join(source, '..data'))
    const { code, stdout, stderr } = await runInPlace(source, ['echo', 'started']).ended()
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^inotify-bridge mirror: .* is not complete.*\.\.data: leads to \.\.gone.*\n$/)
  })

  test('a key that may not be read: 1, and the command is not started', async () => {
    const source = scratch()
    chmodSync(source, 0o755)
    mkdirSync(join(source, '..1'))
    for (const key of ['may', 'not']) writeFileSync(join(source, '..1', key), key)
    chmodSync(join(source, '..1/not'), 0)
    await symlink('..1', join(source, '..data'))
    const run = runInPlace(source, ['echo', 'started'], { rights: 'user' })
    const { code, stdout, stderr } = await run.ended()
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/is not complete.*\.\.data\/not: EACCES/)
  })

  test.skipIf(!mayServeFuse)(
    `${KEYS} keys on FUSE, swapped all the time: the command finds all of them or is not started (needs /dev/fuse)`,
    async () => {
      const { back, front, wrap } = silentMount()
      const version = (n: number) =>
        Object.fromEntries(Array.from({ length: KEYS }, (_, i) => [`k${i}`, `${n}`]))
      await atomicWrite(back, version(0))
      const count = ['sh', '-c', 'cat "$0"/k* | wc -c', front]
      const argv = [process.execPath, MAIN, ...FAST, front, '--in-place', '--', ...count]
      const [program = '', ...rest] = wrap(argv)
      const run = new Program(program, rest)
      const ended = run.ended()
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      for (let n = 1; !isOver; n = (n + 1) % 10) await atomicWrite(back, version(n))
      const { code, stdout, stderr } = await ended
      if (code === 0) expect(stdout.trim()).toBe(`${KEYS}`)
      else expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('is not complete')])
    },
  )
})
