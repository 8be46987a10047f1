import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mirrorStatus } from '../../src/cli/mirror/mirror_status.ts'
import { metricsText } from '../../src/cli/service/metrics.ts'
import { IN_DELETE, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { mirror } from '../../src/mirror/mirror.ts'
import { scratch } from '../support/scratch.ts'
import { NOTHING, Run } from './command.ts'

const PATIENCE = { interval: 5, timeout: 60_000 }

/** A source with one file, and an empty target on a tmpfs. */
function directories() {
  const [source, target] = [join(scratch(), 'source'), scratch('/dev/shm')]
  mkdirSync(source)
  writeFileSync(join(source, 'a'), 'one')
  return { source, target, ready: join(scratch(), 'ready') }
}

const FAST = ['mirror', '--interval', '20', '--quiet', '0']

test('--ready-file is there while the target can be relied on, and no longer', async () => {
  const { source, target, ready } = directories()
  writeFileSync(ready, 'of a killed run')
  const inotify = new Inotify()
  inotify.add(join(ready, '..'), IN_MOVED_TO | IN_DELETE)
  const seen: string[] = []
  inotify.on('events', (batch) => {
    for (const { mask, name } of batch)
      if (name === 'ready')
        seen.push(mask & IN_MOVED_TO ? `moved, copied: ${existsSync(join(target, 'a'))}` : 'deleted')
  })
  onTestFinished(() => inotify.close())
  const run = new Run([...FAST, '--ready-file', ready, source, target])
  await expect.poll(() => seen, PATIENCE).toEqual(['deleted', 'moved, copied: true'])

  renameSync(source, `${source}-away`)
  await expect.poll(() => seen, PATIENCE).toHaveLength(3)
  renameSync(`${source}-away`, source)
  await expect.poll(() => seen, PATIENCE).toHaveLength(4)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
  await expect
    .poll(() => seen, PATIENCE)
    .toEqual(['deleted', 'moved, copied: true', 'deleted', 'moved, copied: true', 'deleted'])
  expect(readdirSync(join(ready, '..'))).toEqual([])
})

test('a --ready-file that somebody removes, or replaces, comes back with the next pass', async () => {
  const { source, target, ready } = directories()
  const run = new Run([...FAST, '--ready-file', ready, source, target])
  await expect.poll(() => existsSync(ready), PATIENCE).toBe(true)
  let text = 0
  const pass = async () => {
    writeFileSync(join(source, 'a'), `${++text}`)
    await expect.poll(() => readFileSync(join(target, 'a'), 'utf8'), PATIENCE).toBe(`${text}`)
  }
  const comesBack = () => expect.poll(() => lstatSync(ready).isFile(), PATIENCE).toBe(true)
  rmSync(ready)
  await pass()
  await comesBack()
  // At once: between two steps it may have come back.
  symlinkSync('/no/such', `${ready}.link`)
  renameSync(`${ready}.link`, ready)
  await pass()
  await comesBack()
  const putDirectory = () => {
    while (!lstatSync(ready, { throwIfNoEntry: false })?.isDirectory()) {
      rmSync(ready, { force: true })
      spawnSync('mkdir', [ready])
    }
  }
  // The mirror reports once that it cannot replace the directory, and leaves the directory alone until it can.
  putDirectory()
  for (let n = 0; n < 3; n++) await pass()
  await run.until('stderr', /EISDIR.*\n/)
  expect(run.stderr.match(/EISDIR/g)).toHaveLength(1)
  // Each try makes a draft, which stays for a moment only.
  await expect.poll(() => readdirSync(join(ready, '..')), PATIENCE).toEqual(['ready'])
  rmSync(ready, { recursive: true })
  await pass()
  await comesBack()
  putDirectory()
  run.kill('SIGTERM')
  const { code, stderr } = await run.ended()
  expect(code).toBe(0)
  const said =
    /^(inotify-bridge mirror: --ready-file: .*EISDIR.*\n|inotify-bridge mirror: warning: looking at .*\n)+$/
  expect(stderr).toMatch(said)
  // Nothing else was left undone for it.
  expect(readdirSync(target)).toEqual(expect.arrayContaining(['a']))
  expect(readdirSync(join(ready, '..'))).toEqual(['ready'])
})

test.each([
  ['hold', false],
  ['link', true],
])('over the limits under %s it is there: %s', async (overLimit, expected) => {
  const { source, target, ready } = directories()
  const run = new Run([
    ...FAST,
    '--max-files',
    '1',
    '--over-limit',
    overLimit,
    '--ready-file',
    ready,
    source,
    target,
  ])
  await expect.poll(() => existsSync(ready), PATIENCE).toBe(true)
  writeFileSync(join(source, 'b'), 'two')
  await run.until('stdout', /over-limit/)
  await expect.poll(() => existsSync(ready), PATIENCE).toBe(expected)
})

test('a stale --ready-file goes, though the source is not there', async () => {
  const { target, ready } = directories()
  writeFileSync(ready, '')
  const { code, stderr } = await new Run([...FAST, '--ready-file', ready, '/no/such', target]).ended()
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^inotify-bridge mirror: ENOENT.*\n$/)])
  expect(readdirSync(join(ready, '..'))).toEqual([])
})

test('a --ready-file that cannot be made: one line, and nothing is mirrored', async () => {
  const { source, target } = directories()
  const { code, stderr } = await new Run([...FAST, '--ready-file', '/no/such/ready', source, target]).ended()
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^inotify-bridge mirror: --ready-file: ENOENT.*\n$/),
  ])
  expect(readdirSync(target)).toEqual([])
})

/** Returns the URL at which a run with `--listen` says that it listens. */
async function urlOf(run: Run): Promise<string> {
  await run.until('stdout', /"listening".*\n/)
  return String(run.objects[0]?.url)
}

test('--listen: alive, ready, and metrics that count', async () => {
  const { source, target } = directories()
  const run = new Run([...FAST, '--json', '--listen', '127.0.0.1:0', source, target])
  const url = await urlOf(run)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  const status = async (path: string) => (await fetch(url + path)).status
  await expect.poll(() => status('/readyz'), PATIENCE).toBe(200)
  expect(await status('/healthz')).toBe(200)

  writeFileSync(join(source, 'a'), 'two!')
  await run.until('stdout', /"update"/)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain('inotify_bridge_mirror_state{state="mirroring"} 1\n')
  expect(metrics).toContain('inotify_bridge_mirror_state{state="source-lost"} 0\n')
  expect(metrics).toContain('inotify_bridge_mirror_updates_total 1\n')
  const [, changed] = /_last_update_timestamp_seconds (\d\S+)\n/.exec(metrics) ?? []
  expect(Math.abs(Number(changed) - Date.now() / 1000)).toBeLessThan(60)

  renameSync(source, `${source}-away`)
  await run.until('stdout', /source-lost/)
  const unready = await fetch(`${url}/readyz`)
  expect([unready.status, await unready.text()]).toEqual([503, expect.stringMatching(/^source-lost: .+\n$/)])
  expect(await status('/healthz')).toBe(200)
  expect(await status('/')).toBe(404)
  expect((await fetch(`${url}/readyz`, { method: 'POST' })).status).toBe(405)

  // One who keeps the connection does not keep the command.
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  await once(client, 'connect')
  client.on('error', () => {})
  run.kill('SIGTERM')
  expect(await run.ended()).toMatchObject({ code: 0, stderr: NOTHING })
})

test('not ready while the target cannot be written, and again when it can', async () => {
  const { source } = directories()
  // Stands in for the mirror: a target that fails is made in test/mirror/mounts.test.ts.
  const status = mirrorStatus([source], '/t')
  const { EventEmitter } = await import('node:events')
  const mirrored = Object.assign(new EventEmitter(), {
    state: 'mirroring',
    skipped: [],
    errors: [] as Error[],
  })
  const told: boolean[] = []
  status.onTold = () => told.push(status.unready === undefined)
  expect(status.unready).toBe('the first pass is not over')
  status.follow(mirrored as never)
  mirrored.errors = [new Error(`ENOSPC ${source}`)]
  mirrored.emit('error', mirrored.errors[0])
  mirrored.emit('pass')
  expect(status.unready).toBe(`ENOSPC ${source}`)
  expect(status.metrics().errors_total?.[1]).toBe(1)
  // Something could be written, and something still cannot.
  mirrored.emit('update', { changed: ['a'], generation: 2 })
  mirrored.emit('pass')
  expect(status.unready).toBe(`ENOSPC ${source}`)
  mirrored.errors = []
  mirrored.emit('pass')
  expect(status.unready).toBeUndefined()
  expect(told).toEqual([true, false, false, false, true])
})

test('not ready from when an error is told, and not only when the pass is over', async () => {
  const { source, target } = directories()
  writeFileSync(join(source, 'a'), '1')
  await using mirrored = await mirror(source, target, { interval: 60_000, quiet: 5 })
  const status = mirrorStatus([source], '/t')
  status.follow(mirrored)
  const told: boolean[] = []
  status.onTold = () => told.push(status.unready === undefined)
  renameSync(target, `${target}.away`)
  onTestFinished(() => rmSync(`${target}.away`, { recursive: true }))
  await mirrored.refresh()
  expect(told).toEqual([false, true])
})

test('a port that is taken: one line, and nothing is mirrored', async () => {
  const { source, target, ready } = directories()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const run = new Run([...FAST, '--ready-file', ready, '--listen', `127.0.0.1:${port}`, source, target])
  const { code, stderr } = await run.ended()
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^inotify-bridge mirror: --listen: .*EADDRINUSE.*\n$/),
  ])
  expect(readdirSync(target)).toEqual([])
})

test('each metric has HELP and TYPE once, and labels are escaped', () => {
  const text = metricsText('mirror', mirrorStatus(['/a"b', '/c\\d\ne'], '/t').metrics())
  const names = [...text.matchAll(/^# TYPE (\S+) (gauge|counter)$/gm)].map(([, name]) => name)
  expect([...text.matchAll(/^# HELP (\S+) .+$/gm)].map(([, name]) => name)).toEqual(names)
  expect(new Set(names).size).toBe(names.length)
  for (const line of text
    .trimEnd()
    .split('\n')
    .filter((each) => !each.startsWith('#')))
    expect(line).toMatch(
      /^[a-z_]+(\{[a-z]+="([^"\\\n]|\\[\\"n])*"(,[a-z]+="([^"\\\n]|\\[\\"n])*")*\})? [\d.e+-]+$/,
    )
  expect(text).toContain('source="/a\\"b"')
  expect(text).toContain('source="/c\\\\d\\ne"')
  expect(text).toContain('_last_update_timestamp_seconds 0\n')
})

test('it is really removed when the process goes by an error of its own', async () => {
  const { source, target, ready } = directories()
  const throwing = `data:text/javascript,process.on('SIGUSR2',()=>{throw(Error('its_own'))})`
  const environment = { NODE_OPTIONS: `--import=${throwing}` }
  const run = new Run([...FAST, '--ready-file', ready, source, target], { environment })
  await expect.poll(() => existsSync(ready), PATIENCE).toBe(true)
  run.kill('SIGUSR2')
  expect((await run.ended()).stderr).toContain('its_own')
  expect(existsSync(ready)).toBe(false)
})

const A_PASS_MS = 60_000

/** A run whose first pass takes a minute, when it has begun. */
async function startingUp(source: string, target: string, ...options: string[]): Promise<Run> {
  const run = new Run(['mirror', '--quiet', `${A_PASS_MS}`, ...options, source, target])
  await expect
    .poll(() => existsSync(target) && readdirSync(target), PATIENCE)
    .toContainEqual(expect.stringMatching(/^\.inotify/))
  return run
}

test('a signal ends a start that would take long', async () => {
  const { source, target } = directories()
  const run = await startingUp(source, target)
  const began = performance.now()
  run.kill('SIGTERM')
  expect(await run.ended()).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(performance.now() - began).toBeLessThan(A_PASS_MS / 2)
  expect(readdirSync(target)).not.toContain('a')
  const once = await startingUp(source, target, '--once')
  once.kill('SIGTERM')
  expect(await once.ended()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/incomplete: ended by a signal/),
  })
})

test('what an earlier run copied stays then', async () => {
  const { source, target } = directories()
  expect((await new Run([...FAST, '--once', source, target]).ended()).code).toBe(0)
  writeFileSync(join(source, 'a'), 'two')
  writeFileSync(join(source, 'b'), 'new')
  const began = readdirSync(target)
  const run = new Run(['mirror', '--quiet', '60000', source, target])
  // The staging directory of this run.
  await expect.poll(() => readdirSync(target), PATIENCE).not.toEqual(began)
  run.kill('SIGTERM')
  expect((await run.ended()).code).toBe(0)
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('one')
  expect(existsSync(join(target, 'b'))).toBe(false)
  expect((await new Run([...FAST, '--once', source, target]).ended()).code).toBe(0)
  expect(readFileSync(join(target, 'a'), 'utf8')).toBe('two')
})
