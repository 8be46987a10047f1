import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** Callers that probe and scrape are few; more than so many is somebody who holds them. */
const MOST = 64

/**
 * The number of connections that may be open at once: each is a descriptor, and without descriptors nothing can be mirrored or read. At most an
 * eighth of what this process may have, so that the rest is for its work.
 *
 * @param limits what /proc/self/limits has (proc_pid_limits(5)): of the shell's `ulimit -n`, which Node raises as far as it may
 */
export function mostConnections(limits = readLimits()): number {
  const soft = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  return Math.max(1, Math.min(MOST, Math.floor(soft / 8)))
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    // No /proc: what is usual is enough.
    return ''
  }
}

/**
 * The connections of a server that are open. Where there is one too many the oldest gives way, of the address that has the most: who opens
 * many ends his own, and a probe that comes meanwhile, and from elsewhere, is answered.
 */
export class Connections {
  readonly #most: number
  readonly #byAddress = new Map<string, Set<Socket>>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  add(socket: Socket): void {
    // undefined: it has gone already.
    const address = socket.remoteAddress ?? ''
    const there = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, there.add(socket))
    this.#count++
    socket.once('close', () => this.#remove(address, socket))
    if (this.#count <= this.#most) return
    const [victim, of] = this.#oldestOfMost()
    this.#remove(of, victim)
    victim.destroy()
  }

  #oldestOfMost(): [Socket, string] {
    const [address, sockets] = [...this.#byAddress].reduce((most, each) =>
      each[1].size > most[1].size ? each : most,
    )
    const [oldest] = sockets
    return [oldest as Socket, address]
  }

  #remove(address: string, socket: Socket): void {
    const there = this.#byAddress.get(address)
    if (there?.delete(socket) !== true) return
    this.#count--
    if (there.size === 0) this.#byAddress.delete(address)
  }
}
