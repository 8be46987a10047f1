import { basename, dirname } from 'node:path'
import type { Choice } from '../../mounts/filesystems.ts'
import { isAbsence, isRefused } from '../report/watch_error.ts'
import type { SurveyedDirectory, WatchSystem } from '../system.ts'
import { turnsOf, type Way } from './ways.ts'

/** Chooses the source for a path. Rejects if the path cannot be looked at. */
type Choose = (path: string) => Promise<Choice | { refused: Error }>

/**
 * Returns, for each way, true if a change of its hops or of its end may have no event: they lie on a mount where inotify does not report every change. Looks at
 * the mount table once.
 */
export async function areSilent(
  ways: readonly Way[],
  system: Pick<WatchSystem, 'survey'>,
  choose: Choose,
): Promise<boolean[]> {
  const directories = ways.flatMap((way) => [way.realPath, ...turnsOf(way)].map((place) => dirname(place)))
  // Failures are said by those who ask for a single path.
  const surveyed = await system
    .survey([...new Set(directories)])
    .catch(() => new Map<string, SurveyedDirectory>())
  const isSilentAt = async (path: string) => !surveyed.has(path) && (await isSilent(path, choose))
  const isSilentWay = async (way: Way) => {
    const turns = await Promise.all(turnsOf(way).map((turn) => isSilentAt(dirname(turn))))
    if (turns.includes(true)) return true
    const mounted = surveyed.get(dirname(way.realPath))?.mounted
    return mounted?.has(basename(way.realPath)) !== false && (await isSilentAt(way.realPath))
  }
  return await Promise.all(ways.map(isSilentWay))
}

async function isSilent(path: string, choose: Choose): Promise<boolean> {
  try {
    const choice = await choose(path)
    return 'backend' in choice && choice.backend !== 'inotify'
  } catch (error) {
    // A missing name comes where its directory is.
    if (!isAbsence(error) && !isRefused(error)) return true
    return path !== '/' && (await isSilent(dirname(path), choose))
  }
}
