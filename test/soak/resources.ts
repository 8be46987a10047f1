import { readdirSync } from 'node:fs'

/** The resources of this process while no work is under way. */
export interface Resources {
  readonly descriptors: number
  readonly threads: number
  /** MiB after a garbage collection. */
  readonly heap: number
  /** MiB of the whole process. */
  readonly memory: number
}

/**
 * The growth that is allowed from the most of the first half: memory that is collected at any time, and
 * memory that an allocator keeps.
 */
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

/** Returns a line for each resource that has grown all the time. */
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
