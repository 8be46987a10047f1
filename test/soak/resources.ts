import { readdirSync } from 'node:fs'

/** What this process has, when nothing is going on. */
export interface Resources {
  readonly descriptors: number
  readonly threads: number
  /** MiB, behind a garbage collection. */
  readonly heap: number
  /** MiB: all of it. */
  readonly memory: number
}

/** What may be more at the end than at any time in the first half: what is collected when it likes, and what an allocator keeps. */
const SLACK = { descriptors: 4, threads: 4, heap: 8, memory: 64 } as const

export function resources(): Resources {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  const count = (directory: string) => readdirSync(`/proc/self/${directory}`).length
  const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20)
  return {
    descriptors: count('fd'),
    threads: count('task'),
    heap: mebibytes(heapUsed),
    memory: mebibytes(rss),
  }
}

/** What has grown all the time: a line each. */
export function growth(seen: readonly Resources[]): string[] {
  const half = Math.ceil(seen.length / 2)
  const [before, after] = [seen.slice(0, half), seen.slice(half)]
  if (after.length < 2) return []
  return (Object.keys(SLACK) as Array<keyof Resources>).flatMap((name) => {
    const most = Math.max(...before.map((each) => each[name])) + SLACK[name]
    const least = Math.min(...after.map((each) => each[name]))
    return least > most ? [`${name} grow: ${seen.map((each) => each[name]).join(' ')}`] : []
  })
}
