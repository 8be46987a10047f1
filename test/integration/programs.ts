import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Program } from '../cli/command.ts'

/** The patience for awaited conditions. */
export const PATIENCE = { interval: 10, timeout: 60_000 }

// The ports lie below those that the kernel gives to any caller: no other program gets one between this call
// and the start of the program.
const FIRST_PORT = 20_000
const PORTS = 10_000
const PORTS_EACH = 10
let asked = 0

/** Returns a free port of the loopback interface that no other test file gets. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + ((process.pid * PORTS_EACH + asked++) % PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Returns the processes that have ended without a wait by their parent, as a /proc shows them. */
export function zombiesIn(proc: string): string[] {
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`${proc}/${pid}/stat`, 'utf8')
        return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z') ? [stat.slice(0, 40)] : []
      } catch {
        return [] // it is gone altogether
      }
    })
}

/** Returns the inodes that a process watches by inotify. */
export function watchedBy(pid: number): bigint[] {
  const proc = `/proc/${pid}/fdinfo`
  return readdirSync(proc).flatMap((fd) => {
    try {
      const lines = readFileSync(`${proc}/${fd}`, 'utf8').matchAll(/^inotify .*\bino:([0-9a-f]+)/gm)
      return [...lines].map(([, inode]) => BigInt(`0x${inode}`))
    } catch {
      return [] // it has been closed
    }
  })
}

/** Returns if a process waits in poll(2) for one descriptor without a timeout. */
export function pollsForever(pid: number): boolean {
  return /^\d+ 0x[0-9a-f]+ 0x1 0xf+ /.test(readFileSync(`/proc/${pid}/syscall`, 'utf8'))
}

/** Returns the objects of an event, in a run with --json. */
export function told(run: Program, event: string): Array<Record<string, unknown>> {
  return run.objects.filter((object) => object.event === event)
}
