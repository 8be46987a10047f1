import { parse } from 'yaml'
import { operationOf, spoken } from './operation.ts'
import { ORDINARY, type Scenario, type Settings } from './scenario.ts'

/** A scenario as people write it, and as a failure prints it. */
export interface Schedule {
  /** 'small' if there is none. */
  tree?: Scenario['tree']
  /** The settings that are not the ordinary ones. */
  with?: Partial<Settings>
  /** The operations in words: 'rename /t/a /t/b; mkdir /t/a'. */
  do?: string
  /** By step, the choices that are not 0. */
  chosen?: Record<number, number>
}

export function scenarioOf({
  tree = 'small',
  with: differing,
  do: words = '',
  chosen = {},
}: Schedule): Scenario {
  const operations = words.split('; ').filter(Boolean).map(operationOf)
  const length = 1 + Math.max(-1, ...Object.keys(chosen).map(Number))
  const choices = Array.from({ length }, (_, step) => chosen[step] ?? 0)
  return { settings: { ...ORDINARY, ...differing }, tree, operations, choices }
}

/** Returns the text of a schedule for the environment's SCHEDULE, and for found.yaml. */
export function encode({ settings, tree, operations, choices }: Scenario): string {
  const differing = Object.entries(settings).filter(
    ([name, value]) => ORDINARY[name as keyof Settings] !== value,
  )
  const chosen = [...choices.entries()].filter(([, choice]) => choice !== 0)
  return JSON.stringify({
    tree,
    with: Object.fromEntries(differing),
    do: operations.map(spoken).join('; '),
    chosen: Object.fromEntries(chosen),
  })
}

export function decode(text: string): Scenario {
  return scenarioOf(parse(text))
}
