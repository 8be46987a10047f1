import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Change } from '../../../../src/index.ts'
import type { Observer, Tell, WatchedRoots } from './observer.ts'

const PROGRAM = join(import.meta.dirname, 'remote.mjs')

/** A request to {@link PROGRAM}. */
export type Request = WatchedRoots | 'sync' | 'close'

/** A message of the program: changes as they come, and the results of requests in their order. */
type Message = { changes: Change[]; at: number } | { done: true } | { failed: string }

/** Messages to and from {@link PROGRAM}. */
interface Channel {
  send(request: Request): void
  onMessage(listener: (message: Message) => void): void
  onEnd(listener: (reason: string) => void): void
  end(): void
}

/** Starts a watcher in a worker thread. */
export function inWorker(watched: WatchedRoots, tell: Tell): Observer {
  const worker = new Worker(PROGRAM)
  return remote(watched, tell, {
    send: (request) => worker.postMessage(request),
    onMessage: (listener) => worker.on('message', listener),
    onEnd: (listener) =>
      worker.on('error', (error) => listener(String(error))).on('exit', (code) => listener(`code ${code}`)),
    end: () => void worker.terminate(),
  })
}

/** Returns arguments of unshare(1) that give a command a limit of `count` watches. */
export const withWatches = (count: number) => [
  ...['-Ur', 'sh', '-c'],
  ...[`echo ${count} > /proc/sys/user/max_inotify_watches && exec "$@"`, 'sh'],
]

/** Starts a watcher in a process with a limit on watches. */
export function inProcess(watched: WatchedRoots, tell: Tell): Observer {
  const command = [...withWatches(watched.settings.watches), process.execPath, PROGRAM]
  const child: ChildProcess = spawn('unshare', command, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return remote(watched, tell, {
    send: (request) => void child.send(request),
    onMessage: (listener) => child.on('message', listener),
    onEnd: (listener) => child.on('exit', (code, signal) => listener(`${signal ?? `code ${code}`}`)),
    end: () => void child.kill('SIGKILL'),
  })
}

function remote(watched: WatchedRoots, tell: Tell, channel: Channel): Observer {
  const waiting: Array<{ resolve: () => void; reject: (error: Error) => void }> = []
  let ended: Error | undefined
  channel.onMessage((message) => {
    if ('changes' in message) tell(message.changes, message.at)
    else if ('failed' in message) waiting.shift()?.reject(new Error(message.failed))
    else waiting.shift()?.resolve()
  })
  channel.onEnd((reason) => {
    ended = new Error(`the watcher's thread or process ended: ${reason}`)
    for (const { reject } of waiting.splice(0)) reject(ended)
  })
  const ask = (request: Request): Promise<void> => {
    if (ended !== undefined) return Promise.reject(ended)
    channel.send(request)
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
  }
  return {
    ready: ask(watched),
    sync: () => ask('sync'),
    close: () => ask('close').finally(() => channel.end()),
  }
}
