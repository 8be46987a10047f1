import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * The figures are kept for docs/kata.md: then more rounds are played, at each interval, than the tests of
 * promises need.
 */
export const isKept = (process.env.GUEST_RESULTS ?? '') !== ''

/** Returns the median of measured ms. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Returns latencies in a few figures, ms. */
export function summary(latencies: readonly number[]) {
  const round = (ms: number) => Math.round(ms * 10) / 10
  return { n: latencies.length, median: round(median(latencies)), max: round(Math.max(...latencies)) }
}

/** Prints figures, and adds them to the JSON file that GUEST_RESULTS names. */
export function record(mode: string, what: string, figures: object): void {
  console.log(`  ${mode}, ${what}: ${JSON.stringify(figures).replaceAll(/["{}]/g, '').replaceAll(',', ', ')}`)
  const path = process.env.GUEST_RESULTS
  if (path === undefined || !isKept) return
  const results = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  results[mode] = { ...results[mode], [what]: figures }
  writeFileSync(path, `${JSON.stringify(results, undefined, 2)}\n`)
}
