import { textOf } from '../../name_key.ts'
import type { Coverage } from '../report/coverage.ts'
import { asWatchError, isStaleMount } from '../report/watch_error.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { Root } from '../roots/root.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { EngineContext } from './context.ts'

const STAT_ONLY_MS = 10_000
const STAT_ONLY = `what the kubelet swaps as a whole is polled by the times of its directory, and all of it every ${STAT_ONLY_MS / 1000} s`

const AWAITED = 'it is not there yet: the nearest directory above it is watched'

type UncoveredLinks = ReadonlyMap<WatchedMount | Directory, Coverage['uncovered']>

/** Returns followed links whose way is not watched, by their directory and their mount. Each link to a directory has its own mount: there may be thousands. */
export function uncoveredLinks(links: ReturnType<FollowedLinks['refused']>, tree: Tree): UncoveredLinks {
  const found = new Map<WatchedMount | Directory, Coverage['uncovered']>()
  for (const { parent, name, error } of links) {
    const path = textOf(tree.pathOf(parent, name))
    const row = { path, error: asWatchError(error, path) as Error }
    for (const each of [parent, parent.mount]) {
      const rows = found.get(each)
      if (rows === undefined) found.set(each, [row])
      else rows.push(row)
    }
  }
  return found
}

/** @param isThere true: the root is present, or its first listing is under way, whose progress is told as well */
export function coverageOf(
  root: Root,
  isThere: boolean,
  links: UncoveredLinks,
  context: EngineContext,
  relay: string | undefined,
): Coverage[] {
  const { tree, settings, pollInterval, pollRound, pollScope } = context
  const whyOf = ({ base, usesPolling, why }: WatchedMount): string => {
    if (!usesPolling) return why
    const statOnly = base !== undefined && pollScope.statsOnly(base) ? STAT_ONLY : undefined
    const slowness = pollRound === undefined ? pollInterval.slowness : undefined
    return [why, statOnly, relay, slowness].filter((each) => each !== undefined).join('; ')
  }

  const latencyOf = ({ base, usesPolling, leftover }: WatchedMount): { latency?: number } => {
    if (!usesPolling && leftover.size === 0) return {}
    const { interval } = settings
    if (pollRound !== undefined) {
      const directories = pollScope.mounts().reduce((sum, mount) => sum + mount.directories, 0)
      return { latency: Math.ceil(interval + pollRound.longest(directories, interval)) }
    }
    const isStatOnly = base !== undefined && pollScope.statsOnly(base)
    return { latency: Math.ceil(pollInterval.longest + (isStatOnly ? STAT_ONLY_MS : 0)) }
  }

  if (root.coverer !== undefined && isThere) return [ofCovered(root, root.coverer, links, tree)]
  const ofRoot = (error: Error | undefined) => (error === undefined ? [] : [{ path: root.path, error }])
  const absence = ofRoot(root.absence)
  const stale = isStaleMount(root.absence) ? root.absence.hint : undefined
  const mounts = isThere ? [...root.mounts] : [...root.mounts].slice(0, 1)
  if (mounts.length === 0) {
    return [
      {
        path: root.path,
        backend: root.isAwaited ? 'inotify' : 'poll',
        why: stale ?? (root.isAwaited ? AWAITED : 'it is not there yet'),
        directories: 0,
        uncovered: absence,
      },
    ]
  }
  return mounts.map((mount) => {
    const uncovered = [...mount.uncovered].map(([directory, error]) => ({
      path: textOf(tree.pathOf(directory)),
      error,
    }))
    const refused = [...mount.refused.keys()].flatMap((parent) => refusedIn(parent, tree))
    return {
      path: mount.base === undefined ? root.path : textOf(tree.pathOf(mount.base)),
      backend: mount.backend,
      why: stale ?? whyOf(mount),
      ...latencyOf(mount),
      directories: isThere ? mount.directories : 0,
      uncovered: [...absence, ...ofRoot(mount.limit), ...refused, ...uncovered, ...(links.get(mount) ?? [])],
    }
  })
}

/** Returns the mounts and links in a directory that are not gone into. */
function refusedIn(parent: Directory, tree: Tree): Coverage['uncovered'] {
  return [...parent.mount.refused.in(parent)].map(([name, error]) => ({
    path: textOf(tree.pathOf(parent, name)),
    error,
  }))
}

/** Returns the coverage of a root in another root's tree: its directories are among those of the other. */
function ofCovered({ path, top }: Root, coverer: Root, links: UncoveredLinks, tree: Tree): Coverage {
  const { backend } = (top ?? (coverer.top as Directory)).mount
  let directories = 0
  const uncovered: Coverage['uncovered'] = []
  for (const each of top === undefined ? [] : tree.within(top)) {
    directories++
    const error = each.mount.uncovered.get(each)
    if (error !== undefined) uncovered.push({ path: textOf(tree.pathOf(each)), error })
    uncovered.push(...refusedIn(each, tree), ...(links.get(each) ?? []))
  }
  return {
    path,
    backend,
    why: `it is watched with ${coverer.path}, in which it lies`,
    directories,
    uncovered,
  }
}
