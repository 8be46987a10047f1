import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'

/** For conditions that are awaited. */
export const PATIENCE = { interval: 10, timeout: 20_000 }

/** Whether a program is installed. */
export function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0
}

/** A port of the loopback interface that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Whether somebody listens. */
export async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** What a URL answers with; the status alone if it is not 200. */
export async function textOf(url: string): Promise<string> {
  const response = await fetch(url, { headers: { connection: 'close' } }).catch((error: Error) => error)
  if (response instanceof Error) return String(response.cause ?? response)
  const text = await response.text()
  return response.status === 200 ? text : `${response.status}`
}

/** The processes that have ended and that nobody has waited for, as a /proc shows them. */
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
