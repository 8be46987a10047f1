/** The number of FUSE requests of each kind, by opcode. */
export type Requests = Record<string, number>

// [2026-11-21 10:12:51.892885+0000] [ID: 00003830] unique: 6, opcode: LOOKUP (1), nodeid: 1, insize: 45, pid: 1
const LINE = /^\[(\S+ \S+)\+0000\] .*unique: \d+, opcode: (\w+)/gm

/**
 * Returns the requests in a piece of the log of `virtiofsd -d`, in groups that `gap` ms without a request
 * separate.
 */
export function requestsIn(log: string, gap: number): Requests[] {
  const passes: Requests[] = []
  let last = -Infinity
  for (const [, time = '', opcode = ''] of log.matchAll(LINE)) {
    const at = Date.parse(`${time.replace(' ', 'T').slice(0, -3)}Z`)
    if (at - last > gap) passes.push({})
    last = at
    const pass = passes.at(-1) ?? {}
    pass[opcode] = (pass[opcode] ?? 0) + 1
  }
  return passes
}

/** Returns the number of requests. */
export function total(requests: Requests): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0)
}
