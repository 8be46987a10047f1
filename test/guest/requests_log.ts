/** How often each kind of FUSE request was made, by opcode. */
export type Requests = Record<string, number>

// [2026-11-21 10:12:51.892885+0000] [ID: 00003830] unique: 6, opcode: LOOKUP (1), nodeid: 1, insize: 45, pid: 1
const LINE = /^\[(\S+ \S+)\+0000\] .*unique: \d+, opcode: (\w+)/gm

/**
 * The requests in a piece of the log of `virtiofsd -d`, as what was done at once: parted where nothing was asked for during `gap`
 * ms.
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

/** How many requests those are. */
export function total(requests: Requests): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0)
}
