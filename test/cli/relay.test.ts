import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FrameReader, HELLO, HINT, hello, hintedPaths, readHello } from '../../src/relay/frames.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'

const SECRET = { INOTIFY_BRIDGE_RELAY_TOKEN: 'secret' }

/** Starts a relay of a new directory. */
async function relay(listen: (work: string) => string, environment: NodeJS.ProcessEnv = {}) {
  const work = scratch()
  const directory = join(work, 'dir')
  mkdirSync(directory)
  const address = listen(work)
  const program = new Run(['relay', '--listen', address, directory], { environment })
  await program.until('stderr', /^inotify-bridge relay: listening on .*, for .*\/dir\n$/)
  return { work, directory, address, program }
}

const bySocket = (work: string) => `unix:${work}/socket`

/** Watches with a poll that is never due again, when the relay is there. */
async function watched(directory: string, address: string, environment: NodeJS.ProcessEnv = {}) {
  const args = ['-m', '--backend', 'poll', '--interval', '100000', '--relay', address, directory]
  return await Run.watching(args, { environment })
}

test('what changes is told to a watch in another process, and SIGTERM ends the relay', async () => {
  const { directory, address, program } = await relay(bySocket)
  const watch = await watched(directory, address)
  writeFileSync(join(directory, 'a\nb'), '')
  await watch.until('stdout', /^\S+\/dir\/ CREATE a\\nb\n/)
  program.kill('SIGTERM')
  expect((await program.ended()).code).toBe(0)
  expect(existsSync(address.slice(5))).toBe(false)
  await watch.until(
    'stderr',
    /ECONNRESET: .*relay 'unix:.*until there is a relay, polls tell of changes: inotify-bridge relay DIR --listen unix:/,
  )
})

test('the socket of a relay that was killed is replaced, and that of one that is there is not', async () => {
  const { directory, address, program } = await relay(bySocket)
  const second = await new Run(['relay', '--listen', address, directory]).ended()
  expect(second.code).toBe(1)
  expect(second.stderr).toMatch(
    /^inotify-bridge relay: --listen unix:\S+: listen EADDRINUSE.*; name an address of this host that is free\n$/,
  )
  program.kill('SIGKILL')
  await program.ended()
  expect(existsSync(address.slice(5))).toBe(true)
  const third = new Run(['relay', '--listen', address, directory])
  await third.until('stderr', /listening on/)
})

test('a file that is no socket is not replaced', async () => {
  const directory = scratch()
  const file = join(directory, 'file')
  writeFileSync(file, 'text')
  const { code, stderr } = await new Run(['relay', '--listen', `unix:${file}`, directory]).ended()
  expect([code, stderr]).toEqual([1, expect.stringContaining('EADDRINUSE')])
  expect(readFileSync(file, 'utf8')).toBe('text')
})

test('over TCP, with the token', async () => {
  const free = createServer()
  await once(free.listen(0, '127.0.0.1'), 'listening')
  const { port } = free.address() as { port: number }
  await new Promise((resolve) => free.close(resolve))
  const { directory, address, program } = await relay(() => `tcp:127.0.0.1:${port}`, SECRET)
  const watch = await watched(directory, address, SECRET)
  writeFileSync(join(directory, 'f'), '')
  await watch.until('stdout', /CREATE f\n/)
  const stranger = await watched(directory, address)
  await stranger.until('stderr', /EACCES: .*INOTIFY_BRIDGE_RELAY_TOKEN is not this relay's/)
  await program.until('stderr', /\ninotify-bridge relay: warning: a client was turned away: .*TOKEN/)
})

test('standard input and output are a client', async () => {
  const directory = scratch()
  const child = spawn(MAIN, ['relay', '--listen', '-', directory], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const reader = new FrameReader()
  const told: string[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    for (const { type, body } of reader.frames(chunk)) {
      if (type === HELLO) told.push(`hello ${readHello(body).rest}`)
      if (type === HINT) told.push(...hintedPaths(body))
    }
  })
  child.stdin.write(hello(''))
  await expect.poll(() => told).toEqual([`hello ${directory}`])
  writeFileSync(join(directory, 'f'), '')
  await expect.poll(() => new Set(told)).toEqual(new Set([`hello ${directory}`, 'f']))
  child.stdin.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test.each<[string, string[], RegExp]>([
  ['no address', ['.'], /say by --listen where clients come/],
  ['no directory', ['--listen', '-'], /name one DIR/],
  ['two', ['--listen', '-', '.', '.'], /name one DIR/],
  ['a file', ['--listen', '-', MAIN], /is no directory: name the one that clients watch/],
  [
    'an address',
    ['--listen', 'nowhere', '.'],
    /--listen must be 'unix:PATH', or 'tcp:HOST:PORT' .*; got 'nowhere'/,
  ],
  ['beyond loopback', ['--listen', 'tcp:0.0.0.0:1', '.'], /beyond loopback: set INOTIFY_BRIDGE_RELAY_TOKEN/],
])('wrong usage: %s', async (_, args, message) => {
  const { code, stderr, stdout } = await new Run(['relay', ...args]).ended()
  expect(stderr).toMatch(message)
  expect(stderr.split('\n').length).toBe(2)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
})

test('a directory that is not there', async () => {
  const { code, stderr } = await new Run(['relay', '--listen', '-', '/nowhere']).ended()
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^inotify-bridge relay: ENOENT: .*'\/nowhere'\n$/),
  ])
})

test.each<[string, string[], RegExp]>([
  ['several paths', ['--relay', 'unix:/r', '.', '/'], /--relay is for one PATH/],
  ['an address', ['--relay', '-', '.'], /--relay must be 'unix:PATH', or 'tcp:HOST:PORT'/],
  [
    'inotify alone',
    ['--relay', 'unix:/r', '--backend', 'inotify', '.'],
    /--relay does not go with --backend inotify/,
  ],
])('watch --relay with %s is wrong', async (_, args, message) => {
  const { code, stderr } = await new Run(['watch', ...args]).ended()
  expect(stderr).toMatch(message)
  expect(code).toBe(2)
})
