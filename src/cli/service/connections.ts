import type { Server, Socket } from 'node:net'

/** Callers that probe and scrape are few; more than so many is somebody who holds them. */
const MOST = 64

/**
 * The number of connections that may be open at once: each is a descriptor, and without descriptors nothing can be mirrored or read. At most an
 * eighth of what this process may have, so that the rest is for its work.
 *
 * @param soft the shell's `ulimit -n`, which Node raises as far as it may; NaN: none is known
 */
export function mostConnections(soft: number): number {
  return Math.max(1, Math.min(MOST, Number.isNaN(soft) ? MOST : Math.floor(soft / 8)))
}

/**
 * Keeps the open connections of a server few. Where there is one too many the oldest gives way, of the address that has the most: who opens
 * many ends his own, and a probe that comes meanwhile, and from elsewhere, is answered. Returns what ends all of them.
 *
 * @param soft as of {@link mostConnections}
 */
export function limitConnections(server: Server, soft: number): () => void {
  const most = mostConnections(soft)
  // The oldest first, each with its address; '' if it had gone already.
  const open = new Map<Socket, string>()
  server.on('connection', (socket) => {
    open.set(socket, socket.remoteAddress ?? '')
    socket.once('close', () => open.delete(socket))
    if (open.size <= most) return
    const counts = new Map<string, number>()
    for (const address of open.values()) counts.set(address, (counts.get(address) ?? 0) + 1)
    const of = (address: string) => counts.get(address) ?? 0
    const [[oldest]] = [...open].sort(([, a], [, b]) => of(b) - of(a)) as [[Socket, string]]
    open.delete(oldest)
    oldest.destroy()
  })
  return () => {
    for (const socket of open.keys()) socket.destroy()
  }
}
