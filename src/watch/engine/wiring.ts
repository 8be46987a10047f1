import { warn } from '../../warning.ts'
import type { DiffContext } from '../diff/context.ts'
import { Rescan } from '../diff/rescan.ts'
import type { EventsContext } from '../events/context.ts'
import { EventHandler } from '../events/event_handler.ts'
import { FollowUp } from '../events/follow_up.ts'
import { type InotifyListener, InotifySource } from '../events/inotify_source.ts'
import { Translator } from '../events/translator.ts'
import { Pending } from '../pending/pending.ts'
import type { PollContext } from '../poll/context.ts'
import { PollBudget } from '../poll/poll_budget.ts'
import { PollInterval } from '../poll/poll_interval.ts'
import { PollRound } from '../poll/poll_round.ts'
import { PollScope } from '../poll/poll_scope.ts'
import { Poller } from '../poll/poller.ts'
import { Expansions } from '../report/expansions.ts'
import { Makers } from '../report/makers.ts'
import { Reporter, type WatchListener } from '../report/reporter.ts'
import { Shortage } from '../report/shortage.ts'
import { Attacher } from '../roots/attach.ts'
import type { RootsContext } from '../roots/context.ts'
import { FileAttacher } from '../roots/file_attacher.ts'
import { FileRoots } from '../roots/file_roots.ts'
import type { ForestContext } from '../roots/forest/context.ts'
import { CoveredRoots } from '../roots/forest/covered_roots.ts'
import { Coverings } from '../roots/forest/covering.ts'
import { RootForest } from '../roots/forest/root_forest.ts'
import { SavedRoots } from '../roots/forest/saved_roots.ts'
import { FollowedLinks } from '../roots/links/followed_links.ts'
import { PathWatches } from '../roots/path_watches.ts'
import type { Root } from '../roots/root.ts'
import { RootMonitor } from '../roots/root_monitor.ts'
import { type PathsContext, RootPaths } from '../roots/root_paths.ts'
import { rulesOf } from '../rules.ts'
import type { SavedContext } from '../saved/context.ts'
import { Since } from '../saved/since.ts'
import { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import { EntryCache } from '../tree/entry_cache.ts'
import { Tree } from '../tree/tree.ts'
import { WatchLimit } from '../tree/watch_limit.ts'
import { Believed } from './believed.ts'
import type { EngineContext } from './context.ts'
import { OverflowRecovery } from './overflow_recovery.ts'
import { Relayed } from './relayed.ts'
import { RepeatingTask } from './repeating_task.ts'
import { Settle } from './settle.ts'
import { Submounts } from './submounts.ts'

/** The parts that an engine brings along, from which the others are made. */
export interface Given extends Pick<EngineContext, 'settings' | 'system' | 'queue'> {
  mountWatch: ReturnType<WatchSystem['watchMounts']>
  listener: WatchListener
  inotifyListener: InotifyListener
}

export type Wired = ReturnType<typeof wire>

/** Puts the rooms together, from the bottom up: each is given those below it, and knows no other. */
export function wire({ settings, system, queue, mountWatch, listener, inotifyListener }: Given) {
  const byPath = new Map<string, Root>()
  const asked = new Set<string>()
  const rules = rulesOf(settings, (path) => asked.has(path))
  const makers = settings.by ? new Makers(system, (error) => reporter.trouble(error)) : undefined
  const sourceChoice = new SourceChoice(system, settings, makers)
  const expansions = settings.expand ? new Expansions() : undefined
  const tree = new Tree(new EntryCache(system.entryCacheSize), expansions)
  const reporter = new Reporter(settings, system.clock, listener, expansions, makers)
  const shortage = new Shortage(reporter)
  const watchShortage = new Shortage(reporter)
  const pathWatches = new PathWatches()
  const owner = { has: (wd: number) => tree.hasWatch(wd) || pathWatches.has(wd) }
  const inotify = new InotifySource(system, inotifyListener, queue, owner)
  const pending = new Pending(tree, system.clock.now())
  const { maxWatches } = settings
  const watchLimit =
    maxWatches === undefined
      ? undefined
      : new WatchLimit(tree, system.watches(maxWatches), system.clock.elapsed())
  const saved: SavedContext = { settings, system, rules, makers, sourceChoice, reporter, tree, watchLimit }
  const diff: DiffContext = { ...saved, pending, inotify, shortage, watchShortage }

  const rescan = new Rescan(diff)
  const translator = new Translator(diff)
  const inEvents: EventsContext = { ...diff, inotify, rescan, looker: rescan.looker, translator }
  const followUp = new FollowUp(inEvents)
  const events = new EventHandler(inEvents)

  const watched: PathsContext = { ...inEvents, pathWatches }
  const inRoots: RootsContext = {
    ...watched,
    paths: new RootPaths(watched),
    mountWatch,
    byPath,
    since: settings.since === undefined ? undefined : new Since(saved, settings.since),
  }
  const coverings = new Coverings(inRoots)
  const inForest: ForestContext = { ...inRoots, coverings, forest: new RootForest(inRoots, coverings) }
  const files = new FileRoots(inForest)
  const links = new FollowedLinks(inRoots)
  const savedRoots = new SavedRoots(inForest)
  const fileAttacher = new FileAttacher(inForest, files)
  const attacher = new Attacher(inForest, fileAttacher, savedRoots)
  const rootMonitor = new RootMonitor(inForest, files, attacher)

  const { pollBudget, hash, interval } = settings
  const pollInterval = new PollInterval(interval, pollBudget === undefined ? warnOfSlowPolls : () => {})
  const budget = pollBudget && new PollBudget(pollBudget, hash, system.clock.elapsed())
  const pollRound = budget && new PollRound(budget)
  const inPoll: PollContext = {
    ...inForest,
    queue,
    events,
    followUp,
    files,
    links,
    rootMonitor,
    pollInterval,
    pollRound,
  }
  const pollScope = new PollScope(inPoll)
  const poller = new Poller(inPoll, pollScope)
  const polls = new RepeatingTask(inPoll, {
    every: () => (pollRound === undefined ? relayed.rest : interval),
    needed: () => pollScope.isNeeded(),
    run: async (isDue) => {
      // One poll of a budget's is of some directories.
      const isPart = isDue && pollRound !== undefined && !relayed.isBehind
      const end = isPart ? () => {} : relayed.poll()
      await poller.poll(isPart)
      end()
    },
    pollIdle: () => (relayed.isConnected ? undefined : poller.pollIdle()),
    interrupt: (isRunDue) => poller.interrupt(isRunDue),
  })

  const engine: EngineContext = {
    ...inPoll,
    byPath,
    asked,
    polls,
    pollScope,
    attacher,
    fileAttacher,
    coveredRoots: new CoveredRoots(inForest),
    savedRoots,
  }
  const relayed = new Relayed(engine)
  return {
    ...engine,
    rules,
    mountWatch,
    submounts: new Submounts(engine),
    overflowRecovery: new OverflowRecovery(engine),
    relayed,
    settle: new Settle(engine, relayed),
    believed: new Believed(engine),
    poller,
  }
}

function warnOfSlowPolls(slowness: string): void {
  warn(
    'INOTIFY_BRIDGE_SLOW_POLL',
    `what is watched is ${slowness}`,
    'Changes are told late. A longer interval, or fewer directories, would take less of a processor.',
  )
}
