// The supervisor under AddressSanitizer and UBSan, while it serves what is hardest for it.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { frame, HINT, hello } from '../../src/relay/frames.ts'
import { compile } from '../support/compile.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { randomFrom } from '../watch/random.mjs'
import { obstacle, Served } from './served.ts'

/** The length of each storm. */
const SECONDS = Number(process.env.SECONDS ?? 8)

const native = join(import.meta.dirname, '../../native')

/** native/run on libc: test/native/run_hosted.cc. */
function hosted(): string {
  const program = join(scratch(), 'run')
  const sources = readdirSync(join(native, 'run'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.cc') && name !== 'base/memory.cc')
    .map((name) => join(native, 'run', name))
  const flags = [
    '-std=c++17',
    '-O1',
    '-g',
    '-Wall',
    '-Wextra',
    '-D_GNU_SOURCE',
    `-I${native}`,
    '-Wl,--wrap=_Z4Exiti',
  ]
  const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover']
  const others = [join(native, 'base/statx.cc'), join(import.meta.dirname, '../native/run_hosted.cc')]
  // The library that scripts/sanitizers.mjs preloads would come on top of this program's own.
  const env = { ...process.env, LD_PRELOAD: '' }
  execFileSync('g++', [...flags, ...sanitizers, '-o', program, ...sources, ...others], { env })
  return program
}

const whyNot = isLong ? obstacle : 'npm run test:long'

describe.skipIf(whyNot !== '')(`run under the sanitizers${whyNot && ` (${whyNot})`}`, () => {
  test('storms, many watches, ends in any order: nothing to report', async () => {
    const run = hosted()
    const load = (...words: string[]) =>
      new Served([run, '--all', '--interval', '5', '--json', '--', compile('run_load'), ...words])
    const place = scratch()
    const seed = Date.now()
    process.stdout.write(`seed ${seed}\n`)
    let state = seed % 2_147_483_647
    const below = (most: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % most
    }

    const storm = load('storm', place, '4')
    await storm.line('ready')
    // Beside what the program does itself: directories that go, come, are moved and changed.
    for (const end = Date.now() + SECONDS * 1000; Date.now() < end; await sleep(below(5))) {
      const path = join(place, String(below(8)))
      try {
        rmSync(path, { recursive: true, force: true })
        if (below(2) === 0) mkdirSync(path)
        writeFileSync(join(path, String(below(4))), '')
      } catch {
        // Another has been there first.
      }
    }
    storm.child.kill('SIGTERM')
    expect(await storm.ended).toBe('SIGTERM')
    expect(reported(storm)).toBe('')

    for (const words of [
      ['cycles', place, '500'],
      ['held', place, '20'],
      ['instances', place, '50'],
      ['unread', place],
    ]) {
      const program = load(...words)
      await program.line('ready')
      expect(await program.end()).toBe(0)
      expect(reported(program)).toBe('')
    }
    for (const words of [[compile('run_table')], [compile('run_hostile', ['-pthread']), String(SECONDS)]]) {
      const [file = '', ...rest] = words
      const own = join(scratch(), 'x')
      mkdirSync(own)
      const program = new Served([run, '--all', '--interval', '5', '--', file, own, ...rest])
      expect(await program.end()).toBe(0)
      expect(program.said).toBe('')
    }
    const absent = new Served([run, '--', 'no-such-program'])
    expect(await absent.end()).toBe(127)
  })

  test('a relay that sends anything, in any pieces: nothing to report', async () => {
    const path = join(scratch(), 'relay')
    const seed = Date.now()
    process.stdout.write(`seed ${seed}\n`)
    const random = randomFrom(seed)
    let sent = 0
    const server = createServer(async (socket) => {
      socket.on('error', () => {}).resume()
      const frames = Array.from({ length: random(40) }, () =>
        frame(
          random(4) === 0 ? random(9) : HINT,
          randomBytes([0, 1, 2, 199, 200, 201, 65_536][random(7)] ?? 0),
        ),
      )
      const all = Buffer.concat([hello(''), ...frames, randomBytes(random(20))])
      for (let at = 0; at < all.length && !socket.destroyed; sent++) {
        const end = at + 1 + random([2, 300, 100_000][random(3)] ?? 1)
        socket.write(all.subarray(at, end))
        at = end
        await sleep(random(2))
      }
      socket.end()
    })
    onTestFinished(() => void server.close())
    await once(server.listen(path), 'listening')
    const words = ['--all', '--relay', `unix:${path}`, '--', compile('run_load'), 'held', scratch(), '20']
    const program = new Served([hosted(), ...words])
    await program.line('ready')
    await sleep(SECONDS * 1000)
    expect(await program.end()).toBe(0)
    expect(sent).toBeGreaterThan(10)
    expect(program.said).toMatch(/^(inotify-bridge run: relay unix:[^\n]+\n)+$/)
  })
})

/** Lines of stderr that are no report of a watch. */
const reported = ({ said }: Served) =>
  said
    .split('\n')
    .filter((line) => !line.startsWith('{"event":"watch"'))
    .join('\n')
