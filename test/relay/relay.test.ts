import { once } from 'node:events'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ALIVE,
  FrameReader,
  frame,
  GAP,
  HELLO,
  HINT,
  hello,
  hintedPaths,
  MARK,
  numbered,
  SYNC,
} from '../../src/relay/frames.ts'
import type { RelayListener } from '../../src/relay/relay_client.ts'
import { RelayServer } from '../../src/relay/relay_server.ts'
import { linux } from '../../src/watch/linux.ts'
import type { Change } from '../../src/watch/report/change.ts'
import type { WatchSystem } from '../../src/watch/system.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'
import { Replay, reality, story, watching } from '../watch/support.ts'
import { relayed, TestRelay, TRUSTED } from './support.ts'

type At = (path: string) => string

describe('a change at the host is told without a poll', () => {
  test.each<[string, (at: At) => unknown, string[]]>([
    ['a file is written', (at) => appendFileSync(at('d/f'), 'x'), ['modify file d/f']],
    ['a file is made', (at) => writeFileSync(at('d/new'), ''), ['create file d/new']],
    ['a file is removed', (at) => rmSync(at('d/f')), ['delete file d/f']],
    ['a file is renamed', (at) => renameSync(at('d/f'), at('d/h')), ['rename file d/f d/h']],
    ['over another one', (at) => renameSync(at('d/f'), at('d/g')), ['rename file d/f d/g replaced']],
    ['a directory is renamed', (at) => renameSync(at('d'), at('e')), ['rename directory d e']],
    [
      'directories are made, and a file in them',
      (at) => [mkdirSync(at('d/x/y'), { recursive: true }), writeFileSync(at('d/x/y/f'), '')],
      ['create directory d/x', 'create directory d/x/y', 'create file d/x/y/f'],
    ],
    [
      'a directory is removed',
      (at) => rmSync(at('d/below'), { recursive: true }),
      ['delete directory d/below'],
    ],
    ['a link', (at) => symlinkSync('f', at('d/link')), ['create symlink d/link']],
    [
      'a name that is no UTF-8',
      (at) => mkdirSync(Buffer.concat([Buffer.from(at('d/')), Buffer.from([0xff])])),
      ['create directory d/\ufffd'],
    ],
  ])('%s', async (_, act, expected) => {
    const { at, root, changes } = await relayed()
    act(at)
    await expect.poll(() => story(changes, root)).toEqual(expected)
    expect(changes.every(({ source }) => source === 'poll')).toBe(true)
  })
})

test('sync() waits for the host', async () => {
  const { at, told } = await relayed()
  for (let i = 0; i < 500; i++) writeFileSync(at(`d/${i}`), '')
  expect((await told()).length).toBe(500)
})

test('where the relay goes, polls tell, and an error says so once; where it is back, the relay does', async () => {
  const { at, root, changes, relay, why, errors } = await relayed({}, { interval: 20 })
  await relay.stop()
  await expect.poll(why).toMatch(/; its relay is not there$/)
  appendFileSync(at('d/f'), 'x')
  await expect.poll(() => story(changes, root)).toEqual(['modify file d/f'])
  expect(changes[0]?.source).toBe('poll')
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^(ECONNRESET|EPIPE): .*, relay 'unix:.*' \(.*; until there is a relay, polls tell of changes: inotify-bridge relay DIR --listen unix:/,
    ),
  ])
  // While nobody tells, and just before the relay is back.
  writeFileSync(at('d/between'), '')
  await relay.start(root)
  await expect.poll(why).toMatch(TRUSTED)
  expect(story(changes, root)).toEqual(['modify file d/f', 'create file d/between'])
  appendFileSync(at('d/g'), 'x')
  await expect.poll(() => story(changes, root).at(-1)).toEqual('modify file d/g')
  expect(errors.length).toBe(1)
})

test('what changes while there was no relay yet is told by the poll behind its first word', async () => {
  const root = scratch('/dev/shm')
  const relay = new TestRelay()
  const options = { recursive: true, backend: 'poll', interval: 1_000_000, relay: relay.address } as const
  const { changes, watcher } = await watching(root, options)
  writeFileSync(`${root}/early`, '')
  await relay.start(root)
  await expect.poll(() => story(changes, root)).toEqual(['create file early'])
  await expect.poll(() => watcher.coverage()[0]?.why).toMatch(TRUSTED)
})

test('a relay without the token is turned away, and so is what is no client', async () => {
  const root = scratch('/dev/shm')
  const relay = new TestRelay('secret')
  await relay.start(root)
  const watcher = new Watcher(root, { backend: 'poll', relay: relay.address })
  onTestFinished(() => watcher.close())
  const [error] = await once(watcher, 'error')
  expect(error).toMatchObject({ code: 'EACCES', syscall: 'relay' })
  expect(error.message).toContain("the client's INOTIFY_BRIDGE_RELAY_TOKEN is not this relay's")
  for (const garbage of [
    'GET / HTTP/1.1\r\n\r\n',
    frame(HINT, Buffer.from('a')),
    frame(HELLO),
    Buffer.alloc(9),
  ]) {
    const before = relay.turnedAway.length
    const socket = connect(relay.address.slice(5))
    socket
      .on('error', () => {})
      .resume()
      .write(garbage)
    await once(socket, 'close')
    expect(relay.turnedAway.length).toBe(before + 1)
  }
})

/** A watcher of a tree whose relay is played by the test. */
async function played() {
  const root = scratch('/dev/shm')
  mkdirSync(`${root}/d`)
  writeFileSync(`${root}/d/f`, '')
  let listener: RelayListener | undefined
  const relay = { sync: async () => true, close() {} }
  const openRelay = (_: unknown, given: RelayListener) => {
    listener = given
    return relay
  }
  const options = { recursive: true, backend: 'poll', interval: 1_000_000, relay: 'unix:/nowhere' } as const
  const watched = await watching(root, options, { openRelay })
  ;(listener as RelayListener | undefined)?.gap()
  await expect.poll(() => watched.watcher.coverage()[0]?.why).toMatch(TRUSTED)
  return { ...watched, root, relay, listener: listener as unknown as RelayListener }
}

test('a forged hint tells nothing', async () => {
  const { root, listener, told } = await played()
  const long = 'x'.repeat(300)
  const forged = [
    '..',
    '../..',
    '.',
    'd/..',
    'd/../..',
    '/etc',
    '/',
    'd//f',
    'd/',
    'd/f/g',
    'nothing',
    'no/thing',
    long,
    `d/${long}`,
    '\ufffd\0',
  ]
  await listener.hints([...forged, ...forged, 'd/f', 'd', 'd/f'])
  expect(await told()).toEqual([])
  expect(readdirSync(root)).toEqual(['d'])
})

test('a hint that was lost costs no change: a gap, or an empty path, has everything polled', async () => {
  const { root, listener, told, changes } = await played()
  for (const [name, lose] of [
    ['gap', () => listener.gap()],
    ['root', () => listener.hints([''])],
  ] as const) {
    writeFileSync(`${root}/d/${name}`, '')
    expect(await told()).toEqual([])
    await lose()
    await expect.poll(() => story(changes.splice(0), root)).toEqual([`create file d/${name}`])
  }
})

test('a relay whose first word comes before the root is trusted, also where polls look at some directories only', async () => {
  const openRelay = (_: unknown, listener: RelayListener) => {
    queueMicrotask(() => listener.gap())
    return { sync: async () => true, close() {} }
  }
  const pollBudget = { requests: 100 }
  const options = {
    recursive: true,
    backend: 'poll',
    interval: 50,
    relay: 'unix:/nowhere',
    pollBudget,
  } as const
  const { watcher } = await watching(scratch('/dev/shm'), options, { openRelay })
  await expect.poll(() => watcher.coverage()[0]?.why).toMatch(TRUSTED)
})

test('a hint during a poll is not taken back by the poll', async () => {
  const { root, listener, told } = await played()
  const replay = new Replay()
  replay.names.set(`${root}/d/f`, 'file')
  for (let i = 0; i < 100; i++) {
    listener.gap()
    writeFileSync(`${root}/d/${i}`, '')
    await listener.hints([`d/${i}`])
    renameSync(`${root}/d/${i}`, `${root}/d/then-${i}`)
    await listener.hints([`d/then-${i}`, `d/${i}`])
    if (i % 3 === 0) rmSync(`${root}/d/then-${i}`)
    replay.apply(await told())
  }
  listener.gap()
  replay.apply(await told())
  expect(replay.names).toEqual(reality(`${root}/d`))
})

test('a client that does not read is told that hints were dropped, and the relay keeps no more than a few for it', async () => {
  const root = scratch('/dev/shm')
  const watcher = new Watcher<Buffer>(root, { recursive: true, encoding: 'buffer', settle: 0 })
  onTestFinished(() => watcher.close())
  await watcher.ready
  const relay = new RelayServer(watcher, root, '')
  const [from, to] = [new PassThrough(), new PassThrough()]
  const serving = relay.serve(from, to)
  from.write(hello(''))
  const reader = new FrameReader()
  const types: number[] = []
  const take = () => {
    for (let chunk = to.read(); chunk !== null; chunk = to.read())
      for (const { type } of reader.frames(chunk)) types.push(type)
    return types
  }
  await expect.poll(take).toContain(HELLO)
  const name = 'n'.repeat(200)
  for (let i = 0; i < 40_000; i++) watcher.emit('changes', [created(`${root}/${name}${i}`)])
  expect(to.writableLength + to.readableLength).toBeLessThan(3 * 1024 * 1024)
  await expect.poll(take).toContain(GAP)
  // Nor is a mark sent that would say that all has been told.
  await expect.poll(take).toContain(ALIVE)
  for (let i = 0; i < 40_000; i++) watcher.emit('changes', [created(`${root}/${name}${i}`)])
  from.write(numbered(SYNC, 1))
  types.length = 0
  await setImmediate()
  await watcher.sync()
  await setImmediate()
  await expect.poll(take).toContain(GAP)
  expect(types).not.toContain(MARK)
  from.write(numbered(SYNC, 2))
  await expect.poll(take).toContain(MARK)
  from.end()
  await serving
  expect(relay.size).toBe(0)
})

const created = (path: string) =>
  ({ type: 'create', path: Buffer.from(path), kind: 'file', mask: 0, source: 'inotify' }) as const

test('a hint in a directory that was elsewhere for a moment is not lost', async () => {
  const { root, listener, told } = await played()
  renameSync(`${root}/d`, `${root}/e`)
  writeFileSync(`${root}/e/new`, '')
  renameSync(`${root}/e`, `${root}/d`)
  await listener.hints(['d', 'e/'])
  await listener.hints(['e/new'])
  await listener.hints(['e', 'd/'])
  expect(story(await told(), root)).toEqual(['create file d/new'])
})

test('sync() waits for what a hint has left in doubt', async () => {
  const { root, relay, listener, told } = await played()
  mkdirSync(`${root}/a`)
  mkdirSync(`${root}/d/e`)
  await listener.hints(['a', 'd/e'])
  await told()
  rmSync(`${root}/d/e`, { recursive: true })
  renameSync(`${root}/d`, `${root}/a/f`)
  relay.sync = async () => {
    await listener.hints(['d/e', 'd/e/', 'd', 'a/f/'])
    return true
  }
  expect(story(await told(), root)).toEqual(['rename directory d a/f', 'delete directory a/f/e'])
})

test('the relay says of a directory that is new, or has moved, that all below may have changed', async () => {
  const { root, take } = await served()
  renameSync(`${root}/d`, `${root}/e`)
  mkdirSync(`${root}/new`)
  const paths: string[] = []
  const hints = () => {
    for (const { type, body } of take()) if (type === HINT) paths.push(...hintedPaths(body))
    return paths
  }
  await expect.poll(hints).toEqual(expect.arrayContaining(['d', 'e', 'new', 'e/', 'new/']))
})

test('what has gone from a new directory before the relay watches it is told', async () => {
  let held: Promise<void> | undefined
  let release = () => {}
  const openWalker: WatchSystem['openWalker'] = () => {
    const walker = linux.openWalker()
    const walk = walker.walk.bind(walker)
    walker.walk = async (...args) => {
      await held
      return await walk(...args)
    }
    return walker
  }
  const { root, at, watcher, told } = await relayed({}, { served: { openWalker } })
  held = new Promise((resolve) => {
    release = resolve
  })
  const seen = watcher.next({ path: at('new/gone') })
  mkdirSync(at('new/gone'), { recursive: true })
  await seen
  rmSync(at('new/gone'), { recursive: true })
  release()
  expect(story(await told(), root)).toEqual([
    'create directory new',
    'create directory new/gone',
    'delete directory new/gone',
  ])
})

test('a mark comes behind all that may have changed in directories that the relay hears of while it syncs', async () => {
  const { root, watcher, from, take } = await served()
  const made = { ...created(`${root}/new`), kind: 'directory' } as const
  const syncs = vi.spyOn(watcher, 'sync')
  syncs.mockImplementationOnce(async () => void watcher.emit('changes', [made]))
  take()
  from.write(numbered(SYNC, 1))
  const told: string[] = []
  const words = () => {
    for (const { type, body } of take()) told.push(...(type === HINT ? hintedPaths(body) : [`${type}`]))
    return told
  }
  await expect.poll(words).toContain(`${MARK}`)
  expect(told.slice(0, 3)).toEqual(['new', 'new/', `${MARK}`])
  // Directories that a sync has not told of are not forgotten.
  told.length = 0
  syncs.mockRejectedValueOnce(new Error('EMFILE'))
  watcher.emit('changes', [{ ...made, path: Buffer.from(`${root}/other`) }])
  await expect.poll(() => syncs.mock.settledResults.at(-1)?.type).toBe('rejected')
  watcher.emit('changes', [created(`${root}/file`)])
  await expect.poll(words).toContain('other/')
})

test.each(['lost', 'restored', 'recovered'] as const)(
  "the relay's %s root has clients look at everything",
  async (type) => {
    const { root, watcher, take } = await served()
    take()
    watcher.emit('changes', [{ type, path: Buffer.from(root), source: 'rescan' } as Change<Buffer>])
    expect(take().map(({ type }) => type)).toEqual([GAP])
  },
)

/** Serves a client that has been greeted. `take` returns the frames that have come since. */
async function served() {
  const root = scratch('/dev/shm')
  mkdirSync(`${root}/d`)
  const watcher = new Watcher<Buffer>(root, { recursive: true, encoding: 'buffer', settle: 0 })
  onTestFinished(() => watcher.close())
  await watcher.ready
  const [from, to] = [new PassThrough(), new PassThrough()]
  void new RelayServer(watcher, root, '').serve(from, to)
  onTestFinished(() => void from.end())
  from.write(hello(''))
  await once(to, 'readable')
  const reader = new FrameReader()
  const take = () => {
    const frames: { type: number; body: Buffer }[] = []
    for (let chunk = to.read(); chunk !== null; chunk = to.read()) frames.push(...reader.frames(chunk))
    return frames
  }
  return { root, watcher, from, take }
}
