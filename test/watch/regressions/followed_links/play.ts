// Plays scenarios of followed links, for each way of watching, and applies the changes.
import { appendFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { Change, Kind } from '../../../../src/index.ts'
import { CLOCK_SLACK_MS } from '../../../../src/watch/clock.ts'
import { scratch } from '../../../support/scratch.ts'
import { AppliedAlone } from '../../applied_alone.ts'
import { story } from '../../support.ts'
import type { Scenario } from './scenarios.ts'

/**
 * Returns the entries that a watcher sees by way of links. A link that leads to no directory counts as a
 * file.
 */
function seen(root: string): Array<[path: string, kind: Kind]> {
  return readdirSync(root).flatMap((name): Array<[string, Kind]> => {
    const path = join(root, name)
    const isDirectory = isDirectoryAt(path)
    return isDirectory ? [[path, 'directory'], ...seen(path)] : [[path, 'file']]
  })
}

function isDirectoryAt(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // The link leads nowhere, or round in a circle.
    return false
  }
}

const inOrder = (names: Iterable<[string, Kind]>) =>
  [...names].map(([path, kind]) => (kind === 'directory' ? `${path}/` : path)).toSorted()

/**
 * Plays a scenario. `watch` begins to watch, and returns a function that returns the changes since its last
 * call. `onReady` is called when the entries of the start are known.
 */
export async function play(
  scenario: Scenario,
  watch: (root: string) => Promise<() => Promise<Change[]>>,
  onReady: () => void = () => {},
): Promise<void> {
  const base = scratch()
  const at = (path: string) => join(base, path)
  const root = at('tree')
  mkdirSync(root)
  for (const [directory, file] of [
    ['one', 'f1'],
    ['two', 'f2'],
  ] as const) {
    mkdirSync(at(`out/${directory}/d`), { recursive: true })
    for (const path of [file, `d/${file}`]) writeFileSync(at(`out/${directory}/${path}`), '')
  }
  scenario.before?.(at)
  const believed = new AppliedAlone(root).adopt(seen(root))
  const told = await watch(root)
  await told()
  // Without watches, no times are kept at first: a change shortly before a poll may be told once more. The
  // entries made above must be older.
  const made = Date.now()
  await vi.waitUntil(() => Date.now() > made + CLOCK_SLACK_MS, { interval: 5 })
  onReady()
  scenario.act(at)
  const first = await told()
  believed.apply(first)
  expect(inOrder(believed.names)).toEqual(inOrder(seen(root)))

  const { written, forgotten, named } = scenario
  const ofLink = story(first, base).filter((line) => /tree\/l$/.test(line))
  if (scenario.told !== undefined) expect(ofLink).toEqual(scenario.told)
  if (named !== undefined) expect(first.map(({ path }) => path)).toContain(at(named))
  if (written !== undefined) appendFileSync(at(written[0]), 'more')
  if (forgotten !== undefined) appendFileSync(at(forgotten), 'more')
  const changes = await told()
  believed.apply(changes)
  const expected = written === undefined ? [] : [`modify ${at(written[1])}`]
  expect([...new Set(changes.map(({ type, path }) => `${type} ${path}`))]).toEqual(expected)
}
