import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { RelayServer } from '../../src/relay/relay_server.ts'
import { linux } from '../../src/watch/linux.ts'
import type { WatchOptions } from '../../src/watch/options.ts'
import type { WatchSystem } from '../../src/watch/system.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'
import { watching } from '../watch/support.ts'

/** A relay of a directory, that can go and come back. */
export class TestRelay {
  readonly address: string
  readonly turnedAway: string[] = []
  readonly #path: string
  readonly #token: string
  readonly #sockets = new Set<Socket>()
  #isServing = false
  #stop = async () => {}

  constructor(token = '') {
    this.#path = join(scratch(), 'relay')
    this.address = `unix:${this.#path}`
    this.#token = token
    onTestFinished(() => this.stop())
  }

  /** Serves a directory from now on, unless it does so already. */
  async start(directory: string, system: Partial<WatchSystem> = {}): Promise<void> {
    if (this.#isServing) return
    this.#isServing = true
    const options = { recursive: true, encoding: 'buffer', settle: 0, backend: 'inotify' } as const
    const watcher = new Watcher<Buffer>(directory, options, { ...linux, ...system })
    await watcher.ready
    const relay = new RelayServer(watcher, directory, this.#token)
    const server = createServer((socket) => {
      this.#sockets.add(socket)
      relay.serve(socket, socket).catch((error: Error) => this.turnedAway.push(error.message))
    })
    await once(server.listen(this.#path), 'listening')
    this.#stop = async () => {
      this.#stop = async () => {}
      this.#isServing = false
      server.close()
      for (const socket of this.#sockets) socket.destroy()
      await watcher.close()
    }
  }

  /** Ends the relay, without a word to its clients. */
  stop(): Promise<void> {
    return this.#stop()
  }
}

/** A directory that is polled so seldom that no poll tells of anything by itself, and its relay. */
export async function relayed(
  options: WatchOptions = {},
  { interval = 1_000_000, served }: { interval?: number; served?: Partial<WatchSystem> } = {},
) {
  const root = scratch('/dev/shm')
  const at = (path: string) => join(root, path)
  mkdirSync(at('d/below'), { recursive: true })
  for (const name of ['d/f', 'd/g', 'd/below/f']) writeFileSync(at(name), 'text')
  const relay = new TestRelay()
  await relay.start(root, served)
  const given: WatchOptions = { recursive: true, backend: 'poll', interval, relay: relay.address, ...options }
  const watched = await watching(root, given)
  const errors: Error[] = []
  watched.watcher.on('error', (error) => errors.push(error))
  const why = () => watched.watcher.coverage()[0]?.why ?? ''
  await expect.poll(why).toMatch(TRUSTED)
  return { ...watched, relay, root, at, why, errors }
}

export const TRUSTED = /; its relay tells of changes, and a poll every \d+ s looks for others$/
