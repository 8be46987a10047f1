import { spoken } from './operation.ts'
import { type Outcome, play } from './player.ts'
import { ORDINARY, type Scenario, type Settings } from './scenario.ts'
import { encode } from './schedule.ts'

const MOST_LINES = 20
const LONGEST_LINE = 160
// The most steps that are shown of one turn.
const MOST_STEPS = 5

/** Describes a failing scenario for people, in at most 20 lines, with the command that plays it again. */
export function inWords(scenario: Scenario): string {
  const outcome = play(scenario, true)
  const head = [
    ...outcome.wrong.slice(0, 2).map((each) => `WRONG: ${each}`),
    `with ${settingsInWords(scenario.settings)}: ${scenario.operations.map(spoken).join('; ')}`,
  ]
  const lines = storyInLines(outcome)
  const room = MOST_LINES - head.length - 1
  const left = lines.length - room + 1
  const told = left > 1 ? [...lines.slice(0, room - 4), `... ${left} lines more`, ...lines.slice(-3)] : lines
  return [...head.map(cut), ...told.map(cut), `SCHEDULE='${encode(scenario)}'`].join('\n')
}

/** Describes the whole scenario, however long. */
export function wholeStory(scenario: Scenario): string {
  const { wrong, story } = play(scenario, true)
  return [...story.map(({ who, what }) => `${who}: ${what}`), ...wrong.map((each) => `WRONG: ${each}`)].join(
    '\n',
  )
}

function settingsInWords({ source, queue, lost, watches, ...others }: Settings): string {
  const { fails, failsBy, failsAfter, failsOneIn } = others
  const { followSymlinks, ignored, settle, start, ahead, syncAfter, nesting, sibling, writers } = others
  const { namesPerRead, reusesInos, msPerStep, isAtomic, isPatient } = others
  return [
    source === 'poll' ? 'polls' : `a queue of ${queue}`,
    ...(source === 'inotify+poll' ? ['polls as well'] : []),
    ...(lost > 0 ? [`full during the first ${lost === 1 ? 'operation' : `${lost} operations`}`] : []),
    ...(watches > 0 ? [`${watches} watches`] : []),
    ...(fails > 0
      ? [`${fails} of the opens fail with ${failsBy}, one in ${failsOneIn} after ${failsAfter}`]
      : []),
    ...(followSymlinks ? ['symlinks followed'] : []),
    ...(ignored === '' ? [] : [`names ${ignored} ignored`]),
    ...(settle === 0 ? [] : [settle === 'save' ? 'one change a save' : `settle of ${settle} ms`]),
    ...(start === 'amid' ? ['begun amid the work'] : []),
    ...(start === 'now' ? ['begun in the same turn'] : []),
    ...(ahead > 0 ? [`${ahead} steps within the call`] : []),
    ...(start === 'settled' ? ['a first listing that has settled'] : []),
    ...(syncAfter > 0 ? [`sync() after ${syncAfter === 1 ? 'the first' : `${syncAfter} operations`}`] : []),
    ...(nesting === '' ? [] : [`nested roots, the ${nesting}`]),
    ...(sibling ? ['two roots beside each other'] : []),
    ...(writers > 1 ? ['two writers'] : []),
    ...(namesPerRead < ORDINARY.namesPerRead ? [`${namesPerRead} names a read`] : []),
    ...(reusesInos ? ['inode numbers given again'] : []),
    `${msPerStep} ms a step`,
    ...(isAtomic ? [] : ['calls in steps']),
    ...(isPatient ? ['sync() when all is quiet'] : []),
  ].join(', ')
}

/** Joins consecutive steps of one actor to a line. */
function storyInLines({ story }: Outcome): string[] {
  const turns: Array<{ who: string; whats: string[] }> = []
  for (const { who, what } of story) {
    const last = turns.at(-1)
    if (last?.who !== who) turns.push({ who, whats: [what] })
    else if (last.whats.at(-1) !== what) last.whats.push(what)
  }
  return turns.map(({ who, whats }) => `${who}: ${abridged(whats).join('; ')}`)
}

// Keeps the last steps: the next actor's line depends on them.
function abridged(whats: readonly string[]): readonly string[] {
  const left = whats.length - MOST_STEPS
  return left > 1 ? [whats[0] ?? '', `${left} steps more`, ...whats.slice(left + 1)] : whats
}

function cut(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 3)}...` : line
}
