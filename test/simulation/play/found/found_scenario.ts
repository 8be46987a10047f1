import { ORDINARY, type Scenario, type Settings } from '../scenario.ts'

/** A schedule by which a change was lost, or told as something else, once; as short as it goes. */
export interface Found {
  what: string
  scenario: Scenario
}

/** @param chosen by step; at all others it is 0 */
export function scenario(
  settings: Partial<Settings>,
  operations: Scenario['operations'],
  chosen: Record<number, number> = {},
  tree: Scenario['tree'] = 'small',
): Scenario {
  const length = 1 + Math.max(-1, ...Object.keys(chosen).map(Number))
  const choices = Array.from({ length }, (_, step) => chosen[step] ?? 0)
  return { settings: { ...ORDINARY, ...settings }, tree, operations, choices }
}
