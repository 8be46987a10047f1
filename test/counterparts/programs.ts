import { readdirSync, readFileSync } from 'node:fs'

/** For conditions that are awaited. */
export const PATIENCE = { interval: 10, timeout: 20_000 }

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
