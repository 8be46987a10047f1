import { mkdir, open, rename, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { OPERATIONS } from '../mirror/scenarios/operations.mjs'
import type { Answering, Request } from './channel.ts'
import type { Daemon } from './daemon.ts'
import { requestsIn } from './requests_log.ts'

interface Parameters {
  /** What is changed. */
  path: string
  text: string
  files: Record<string, string>
  /** How many versions, of how many bytes. */
  count: number
  size: number
  /** How many at once, and how long (ms) until the next as many. */
  burst: number
  pause: number
}

/** Resolves to what it has to say, if anything. */
type Change = (parameters: Parameters) => Promise<unknown>

/** A file's content in its n-th version: one character, so that a reader sees what is torn. */
const version = (n: number, size: number) => String.fromCharCode(65 + (n % 26)).repeat(size)

/** What a guest can have changed behind its mount, by name. */
const CHANGES: Record<string, Change> = {
  ...OPERATIONS,

  /** Nothing: for calibrating the clock. */
  async ping() {},

  async swap({ path, files }) {
    await atomicWrite(path, files)
  },

  async 'in-place'({ path, text }) {
    await writeFile(path, text, { flag: 'r+' })
  },

  async 'same-times'({ path, text }) {
    const { atime, mtime } = await stat(path)
    await writeFile(path, text, { flag: 'r+' })
    await utimes(path, atime, mtime)
  },

  async 'rename-over'({ path, text }) {
    await writeFile(`${path}.staged~`, text)
    await rename(`${path}.staged~`, path)
  },

  create: ({ path, text }) => writeFile(path, text, { flag: 'wx' }),

  unlink: ({ path }) => unlink(path),

  async 'to-symlink'({ path }) {
    await unlink(path)
    await symlink('elsewhere', path)
  },

  async directory({ path }) {
    await mkdir(path, { recursive: true })
  },

  /** Versions 1 to `count` by the AtomicWriter: bursts of `burst` as fast as it can, `pause` ms apart. */
  async swaps({ path, count, pause, size, burst }) {
    for (let n = 1; n <= count; n++) {
      await atomicWrite(path, { a: version(n, size), b: version(n, size) })
      if (n % burst === 0) await sleep(pause)
    }
  },

  /**
   * Versions 1 to `count` of one file, emptied and written in 8 parts: bursts of `burst`, `pause` ms apart. Says how long the longest pause within a version was: no reader can tell a writer that pauses from one that is done.
   */
  async rewrites({ path, count, pause, size, burst }) {
    let longest = 0
    for (let n = 1; n <= count; n++) {
      let last = performance.now()
      const file = await open(path, 'w')
      for (let part = 0; part < 8; part++) {
        await file.write(version(n, size / 8))
        const now = performance.now()
        longest = Math.max(longest, now - last)
        last = now
      }
      await file.close()
      if (n % burst === 0) await sleep(pause)
    }
    return { longest }
  },
}

/** Carries out what the guest asks for, in its share and nowhere else. */
export function hostChanges(share: string, daemon: Daemon): Answering {
  let resuming: NodeJS.Timeout | undefined
  let counted = 0
  const ofDaemon: Record<string, (request: Request) => Promise<unknown>> = {
    /** By itself: a guest that hangs in it cannot ask for that. */
    async stop({ ms }) {
      daemon.stop()
      resuming = setTimeout(() => daemon.resume(), Number(ms))
      resuming.unref()
    },

    /** Requests since this was last asked, parted by `gap` ms of silence. */
    async requests({ gap }) {
      const log = await daemon.log()
      const passes = requestsIn(log.slice(counted), Number(gap))
      counted = log.length
      return { passes }
    },
  }
  return async (request) => {
    const { operation, path } = request
    const own = ofDaemon[operation]
    if (own !== undefined) return own(request)
    const change = CHANGES[operation]
    if (change === undefined) throw new Error(`no such operation: ${operation}`)
    const target = join(share, String(path ?? ''))
    if (relative(share, target).startsWith('..')) throw new Error(`outside the share: ${String(path)}`)
    // The guest's scenarios and these have one author; what is missing here throws at once.
    return change({ ...request, path: target } as unknown as Parameters)
  }
}
