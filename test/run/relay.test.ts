// run --relay: whenever the host hints at a change, all that is polled is looked at; without the relay the interval counts.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { frame, GAP, HINT, hello, REFUSED } from '../../src/relay/frames.ts'
import { Program, Run } from '../cli/command.ts'
import { hasInotifywait, mayServeFuse, silentMount } from '../cli/in_place.ts'
import { freePort } from '../integration/programs.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { stop } from '../support/stopped.ts'
import { obstacle, RUN } from './served.ts'

const isSilent = hasInotifywait && mayServeFuse && mayUnshare && obstacle === ''
const SECRET = { INOTIFY_BRIDGE_RELAY_TOKEN: 'secret' }

/** inotifywait under run, that has said that it watches these. */
async function listening(argv: string[], interval: number, relay: string, ...fronts: string[]) {
  const [file = '', ...words] = argv
  const given = ['--interval', String(interval), '--relay', relay]
  const heard = ['inotifywait', '-m', '-e', 'create', '--format', '%f', ...fronts]
  const run = new Program(file, [...words, RUN, ...given, '--', ...heard], { environment: SECRET })
  await run.until('stderr', /Watches established/)
  return run
}

const started = async (address: string, directory: string) => {
  const relay = new Run(['relay', '--listen', address, directory], { environment: SECRET })
  await relay.until('stderr', /listening on/)
  return relay
}

describe.skipIf(!isSilent)(
  `run --relay, on FUSE that is changed behind it${isSilent ? '' : ' (needs dist, inotify-tools, /dev/fuse and unshare -rm)'}`,
  () => {
    test.each<[string, () => string | Promise<string>]>([
      ['a socket', () => `unix:${scratch()}/relay`],
      ['TCP, with the token', async () => `tcp:127.0.0.1:${await freePort()}`],
    ])('a change is told long before the interval: %s', async (_, listen) => {
      const { back, front, wrap } = silentMount()
      const address = await listen()
      await started(address, back)
      const run = await listening(wrap([]), 60_000, address, front)
      const latencies: number[] = []
      for (let i = 0; i < 7; i++) {
        const began = performance.now()
        writeFileSync(join(back, `${i}-`), '')
        await run.until('stdout', new RegExp(`^${i}-$`, 'm'))
        latencies.push(performance.now() - began)
      }
      // Of the fastest: the machine may be busy with something else.
      expect(Math.min(...latencies)).toBeLessThan(200)
      expect(run.stderr).not.toContain('relay')
    })

    test('while the relay is there looks are seldom; when it is killed they are at the interval', async () => {
      const { back, front, wrap } = silentMount()
      const address = `unix:${scratch()}/relay`
      const relay = await started(address, back)
      const run = await listening(wrap([]), 200, address, front)
      writeFileSync(join(back, 'first'), '')
      await run.until('stdout', /^first\n/)
      await stop(relay)
      writeFileSync(join(back, 'second'), '')
      // Less than a relay may be silent.
      await sleep(1000)
      expect(run.stdout).toBe('first\n')
      const toldSoon = async (name: string, act: () => void) => {
        const began = performance.now()
        act()
        await run.until('stdout', new RegExp(`\n${name}\n`))
        expect(performance.now() - began).toBeLessThan(1200)
      }
      await toldSoon('second', () => relay.kill('SIGKILL'))
      expect(run.stderr).toMatch(
        /inotify-bridge run: relay unix:\S+: (it has ended|ECONNRESET); until there is a relay, looks at the interval tell of changes: inotify-bridge relay --listen unix:\S+ DIR\n/,
      )
      for (const name of ['third', 'fourth']) await toldSoon(name, () => writeFileSync(join(back, name), ''))
    })

    test('when the relay comes, and comes back, all is looked at', async () => {
      const { back, front, wrap } = silentMount()
      const address = `unix:${scratch()}/relay`
      const run = await listening(wrap([]), 3_600_000, address, front)
      await run.until('stderr', /relay unix:\S+: ENOENT; until there is a relay/)
      writeFileSync(join(back, 'first'), '')
      const relay = await started(address, back)
      await run.until('stdout', /^first\n/)
      relay.kill('SIGKILL')
      await run.until('stderr', /relay unix:\S+: (it has ended|ECONNRESET); until/)
      await started(address, back)
      writeFileSync(join(back, 'second'), '')
      await run.until('stdout', /\nsecond\n/)
    })

    test('a second file system, of which the relay may tell nothing, is looked at by the interval', async () => {
      const [one, other] = [silentMount(), silentMount()]
      const address = `unix:${scratch()}/relay`
      await started(address, one.back)
      const run = await listening(one.wrap(other.wrap([])), 200, address, one.front, other.front)
      writeFileSync(join(one.back, 'one'), '')
      await run.until('stdout', /^one\n/)
      writeFileSync(join(other.back, 'other'), '')
      await expect.poll(() => run.stdout, { timeout: 10_000 }).toBe('one\nother\n')
    })

    const HELLO_OF_2 = hello('')
    HELLO_OF_2.writeUInt16LE(2, 5)
    test.each<[string, Buffer[], RegExp]>([
      ['no relay', [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], /it sends what no relay sends/],
      ['an empty frame', [hello(''), Buffer.alloc(5)], /it sends what no relay sends/],
      ['a frame of a type that there is not', [hello(''), frame(9)], /it sends what no relay sends/],
      ['HELLO without a version', [frame(1)], /it speaks another version/],
      ['HELLO of another version', [HELLO_OF_2], /it speaks another version/],
      ['a long reason', [frame(REFUSED, Buffer.from('x\n'.repeat(1000)))], /: (x\\u000a){100}; until/],
    ])('what is no relay is none, and the interval counts: %s', async (_, sent, why) => {
      const { back, front, wrap } = silentMount()
      const path = join(scratch(), 'relay')
      const server = createServer((socket) => {
        for (const each of sent) socket.write(each)
        socket.on('error', () => {}).resume()
      })
      onTestFinished(() => void server.close())
      await once(server.listen(path), 'listening')
      const run = await listening(wrap([]), 200, `unix:${path}`, front)
      await run.until('stderr', why)
      writeFileSync(join(back, 'new'), '')
      await run.until('stdout', /^new\n/)
    })

    test('frames may come byte by byte, of any size that they have', async () => {
      const { back, front, wrap } = silentMount()
      const path = join(scratch(), 'relay')
      const server = createServer().listen(path)
      onTestFinished(() => void server.close())
      const come = once(server, 'connection')
      const run = await listening(wrap([]), 3_600_000, `unix:${path}`, front)
      const [socket] = (await come) as [Socket]
      socket.on('error', () => {})
      const greeting = await once(socket, 'data')
      expect(greeting).toEqual([hello(SECRET.INOTIFY_BRIDGE_RELAY_TOKEN)])
      for (const byte of hello('/a/directory')) {
        socket.write(Buffer.of(byte))
        await sleep(1)
      }
      for (const [name, told] of [
        ['hint', frame(HINT, Buffer.alloc(64 * 1024, 'x'))],
        ['gap', frame(GAP)],
      ] as const) {
        writeFileSync(join(back, name), '')
        socket.write(told)
        await run.until('stdout', new RegExp(`^${name}\n`, 'm'))
      }
      // Silence.
      await run.until('stderr', /it has been silent for 3 s; until/)
      socket.destroy()
    })
  },
)
