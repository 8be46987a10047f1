import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mirrorStatus } from '../../src/cli/mirror/mirror_status.ts'
import { mostConnections } from '../../src/cli/service/connections.ts'
import { listenAt, type Routes } from '../../src/cli/service/listen.ts'
import { startService } from '../../src/cli/service/service.ts'
import { limitsOf } from '../../src/reload/actions/open_files.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, NOTHING, Program } from './command.ts'

const MOST = mostConnections(limitsOf('self').soft)
const PATIENCE = { interval: 5, timeout: 60_000 }
/** As few as a container may be given. */
const DESCRIPTORS = 256
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

/** The command, with so few descriptors, when it says that it listens. */
async function listening(args: string[]) {
  const limited = ['-c', `ulimit -n ${DESCRIPTORS}; exec "$@"`, 'sh', process.execPath, MAIN, ...args]
  const run = new Program('sh', limited)
  await run.until('stdout', /listening on \S+\n/)
  const [, url = ''] = /listening on (\S+)\n/.exec(run.stdout) ?? []
  return { run, url }
}

/** A connection on which nothing is said yet. */
async function open(url: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port), localAddress })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Clients that hold what they are given: they say nothing, never come to an end, or never read. */
async function besiege(url: string): Promise<void> {
  for (let n = 0; n < 600; n++) {
    const socket = await open(url)
    if (n % 100 === 0) trickle(socket)
    if (n % 100 === 1) neverRead(socket)
  }
}

function trickle(socket: Socket): void {
  socket.write('GET /readyz HTTP/1.1\r\nx: ')
  const writing = setInterval(() => socket.write('x'), 200)
  socket.once('close', () => clearInterval(writing))
}

function neverRead(socket: Socket): void {
  socket.pause()
  socket.write(GET('/metrics').repeat(20_000))
}

/** Returns the status that an honest client gets before the server drops held connections (a loaded machine takes its time). */
async function readiness(url: string): Promise<number> {
  return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) })).status
}

const descriptors = (run: Program) => readdirSync(`/proc/${run.pid}/fd`).length

test('600 clients that hold their connections do not keep a mirror from its work, nor a probe from its answer', async () => {
  const [source, target] = [join(scratch(), 'source'), scratch('/dev/shm')]
  mkdirSync(source)
  writeFileSync(join(source, 'a'), '0')
  const options = ['--interval', '20', '--quiet', '0', '--listen', '127.0.0.1:0']
  const { run, url } = await listening(['mirror', ...options, source, target])
  await expect.poll(() => readiness(url), PATIENCE).toBe(200)
  await besiege(url)
  for (let n = 1; n <= 10; n++) {
    writeFileSync(join(source, 'a'), `${n}`)
    await expect.poll(() => readFileSync(join(target, 'a'), 'utf8'), PATIENCE).toBe(`${n}`)
    expect(await readiness(url)).toBe(200)
    expect(descriptors(run)).toBeLessThan(DESCRIPTORS / 2)
  }
  run.kill('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  expect(code).toBe(0)
  // A loaded machine may have it say that a look took long.
  expect(stdout + stderr).not.toMatch(/source-lost|EMFILE|--listen/)
})

test('nor a reload', async () => {
  const path = join(scratch(), 'a')
  writeFileSync(path, '0')
  const { run, url } = await listening([
    'reload',
    '--delay',
    '10',
    '--listen',
    '127.0.0.1:0',
    path,
    '--',
    'true',
  ])
  await expect.poll(() => readiness(url), PATIENCE).toBe(200)
  await besiege(url)
  for (let n = 1; n <= 5; n++) {
    writeFileSync(path, `${n}`)
    await expect.poll(() => run.stdout.split('\nreload ').length - 1, PATIENCE).toBe(n)
    expect(await readiness(url)).toBe(200)
    expect(descriptors(run)).toBeLessThan(DESCRIPTORS / 2)
  }
  run.kill('SIGTERM')
  expect(await run.ended()).toMatchObject({ code: 0, stderr: NOTHING })
})

/** A listener here, with the routes that these tests ask for. */
async function started(onError: (error: Error) => void = () => {}) {
  const asked = { count: 0 }
  const routes: Routes = new Map([
    ['/readyz', () => [200, 'ok\n']],
    ['/metrics', () => [200, `${++asked.count}`]],
    // More than the kernel's buffers take for a client that does not read.
    ['/large', () => [200, 'x'.repeat(50_000_000)]],
  ])
  const listener = await listenAt({ host: '127.0.0.1', port: 0 }, routes, onError)
  onTestFinished(() => listener[Symbol.asyncDispose]())
  return { url: listener.url, asked }
}

test('a client that sends late, and from elsewhere, does not give way to many from one address', async () => {
  const { url } = await started()
  const late = await open(url, '127.0.0.2')
  for (let n = 0; n < 2 * MOST; n++) await open(url)
  const answered = once(late, 'data')
  late.write(GET('/readyz'))
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 200 /)
})

test('from one address the oldest gives way, so that whoever comes is answered', async () => {
  const { url } = await started()
  const sockets: Socket[] = []
  const closed: number[] = []
  for (let n = 0; n < MOST + 10; n++) {
    const socket = await open(url)
    sockets.push(socket.once('close', () => closed.push(n)).resume())
  }
  await expect.poll(() => closed, PATIENCE).toHaveLength(10)
  expect(closed.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n))
})

test('of few descriptors most are kept for the work', () => {
  for (const [soft, most] of [
    [1024, 64],
    [256, 32],
    [64, 8],
    [4, 1],
    // No limit, or none that is known.
    [Number.NaN, 64],
  ] as const)
    expect(mostConnections(soft)).toBe(most)
})

test('who is silent, slow, or does not read is let go of within seconds', async () => {
  // Spies on the server's end of each connection: a client that does not read does not see the close.
  const servers = vi.spyOn(Server.prototype, 'setTimeout')
  onTestFinished(() => servers.mockRestore())
  const { url } = await started()
  const taken: Socket[] = []
  const [server] = servers.mock.contexts as Server[]
  server?.on('connection', (socket) => taken.push(socket))
  const kinds: Record<string, (socket: Socket) => void> = {
    'says nothing': () => {},
    'slow headers': trickle,
    'a body that never ends': (socket) => {
      socket.write('POST /readyz HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n')
      const writing = setInterval(() => socket.write('x'), 200)
      socket.once('close', () => clearInterval(writing))
    },
    'keeps what was answered': (socket) => void socket.write(GET('/readyz')),
    'never reads': (socket) => void socket.pause().write(GET('/large')),
  }
  const ends: Array<Promise<string>> = []
  for (const [kind, play] of Object.entries(kinds)) {
    play((await open(url)).resume())
    await expect.poll(() => taken.length, PATIENCE).toBe(ends.length + 1)
    const socket = taken.at(-1) as Socket
    ends.push(new Promise((resolve) => void socket.once('close', () => resolve(kind))))
  }
  expect(await Promise.all(ends)).toEqual(Object.keys(kinds))
})

test('requests that are sent before there is an answer are not heaped up', async () => {
  const { url, asked } = await started()
  const socket = (await open(url)).resume()
  // The kernel may answer with a reset (ECONNRESET) if the server leaves requests unread.
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  socket.write(GET('/metrics').repeat(20_000))
  await closed
  expect(asked.count).toBe(1)
  // One after another they are answered.
  const patient = await open(url)
  for (let n = 0; n < 3; n++) {
    patient.write(GET('/readyz'))
    expect(String((await once(patient, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  }
})

test('what is no HTTP is answered as such, and is no error of the command', async () => {
  const errors: Error[] = []
  const { url } = await started((error) => errors.push(error))
  const socket = await open(url)
  let said = ''
  socket.on('data', (data) => {
    said += data
  })
  socket.write('\x16\x03\x01 no HTTP\r\n\r\n')
  await once(socket, 'close')
  expect(said).toMatch(/^HTTP\/1\.1 400 /)
  expect(errors).toEqual([])
  expect(await readiness(url)).toBe(200)
})

test('an error of the server after its start is said, once, and is no exception', async () => {
  const servers = vi.spyOn(Server.prototype, 'setTimeout')
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => void [servers, written].map((spy) => spy.mockRestore()))
  const listen = { host: '127.0.0.1', port: 0 }
  const reported: object[] = []
  const report = (_: string, fields: object) => void reported.push(fields)
  await using _ = await startService('mirror', { listen }, mirrorStatus([], ''), report)
  const [server] = servers.mock.contexts as Server[]
  for (let n = 0; n < 3; n++) server?.emit('error', new Error('accept EMFILE'))
  expect(written.mock.calls).toEqual([
    ['inotify-bridge: --listen: a connection could not be taken: accept EMFILE\n'],
  ])
  const [{ url }] = reported as [{ url: string }]
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})
