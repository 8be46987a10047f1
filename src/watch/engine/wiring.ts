import type { MountWatch } from '../../mounts/mount_watch.ts'
import type { TaskQueue } from '../../task_queue.ts'
import { warn } from '../../warning.ts'
import { Rescan } from '../diff/rescan.ts'
import { EventHandler } from '../events/event_handler.ts'
import { FollowUp } from '../events/follow_up.ts'
import { type InotifyListener, InotifySource } from '../events/inotify_source.ts'
import { Translator } from '../events/translator.ts'
import { WatchRelease } from '../events/watch_release.ts'
import type { Settings } from '../options.ts'
import { Pending } from '../pending/pending.ts'
import { PollInterval } from '../poll/poll_interval.ts'
import { PollScope } from '../poll/poll_scope.ts'
import { Poller } from '../poll/poller.ts'
import { Expansions } from '../report/expansions.ts'
import { Reporter, type WatchListener } from '../report/reporter.ts'
import { Shortage } from '../report/shortage.ts'
import { WatchShortage } from '../report/watch_shortage.ts'
import { Attacher } from '../roots/attach.ts'
import { AwaitedRoots } from '../roots/awaited_roots.ts'
import { FileBatch } from '../roots/file_batch.ts'
import { FileRoots } from '../roots/file_roots.ts'
import { CoveredRoots } from '../roots/forest/covered_roots.ts'
import { Coverings } from '../roots/forest/covering.ts'
import { RootForest } from '../roots/forest/root_forest.ts'
import { SavedRoots } from '../roots/forest/saved_roots.ts'
import { FollowedLinks } from '../roots/links/followed_links.ts'
import { LinkIndex } from '../roots/links/link_index.ts'
import { PathWatches } from '../roots/path_watches.ts'
import type { Root } from '../roots/root.ts'
import { RootMonitor } from '../roots/root_monitor.ts'
import { RootPaths } from '../roots/root_paths.ts'
import { rulesOf } from '../rules.ts'
import { Since } from '../saved/since.ts'
import { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import { EntryCache } from '../tree/entry_cache.ts'
import { Tree } from '../tree/tree.ts'
import { Believed } from './believed.ts'
import { FirstLook } from './first_look.ts'
import { MountedFiles } from './mounted_files.ts'
import { OverflowRecovery } from './overflow_recovery.ts'
import { RepeatingTask } from './repeating_task.ts'
import { Saver } from './saver.ts'
import { Settle } from './settle.ts'
import { Submounts } from './submounts.ts'

/** The parts that an engine brings along, from which the others are made. */
export interface Given {
  settings: Settings
  system: WatchSystem
  /** Roots by their paths: those that are watched or looked for. */
  byPath: ReadonlyMap<string, Root>
  /** Returns true if a path is a root's, or a root's that is still to be added. */
  isRoot(path: string): boolean
  /** Runs all tasks that change the beliefs, one at a time. */
  queue: TaskQueue
  mountWatch: Pick<MountWatch, 'open' | 'settled'>
  listener: WatchListener
  inotifyListener: InotifyListener
}

export type Wired = ReturnType<typeof wire>

/** Puts the rooms together, from the bottom up: each is given those below it, and knows no other. */
export function wire({
  settings,
  system,
  byPath,
  isRoot,
  queue,
  mountWatch,
  listener,
  inotifyListener,
}: Given) {
  const rules = rulesOf(settings, isRoot)
  const sourceChoice = new SourceChoice(system, settings)
  const expansions = settings.expand ? new Expansions() : undefined
  const tree = new Tree(new EntryCache(system.entryCacheSize), expansions)
  const pending = new Pending(tree, system.clock.now())
  const reporter = new Reporter(settings, system.clock, listener, expansions)
  const inotify = new InotifySource(system, inotifyListener)

  const pathWatches = new PathWatches()
  const watches = new WatchRelease(tree, inotify, pathWatches)

  const watchShortage = new WatchShortage(reporter)
  const rescan = new Rescan({
    settings,
    system,
    rules,
    tree,
    pending,
    inotify,
    sourceChoice,
    reporter,
    watchShortage,
  })
  const { looker } = rescan
  const firstLook = new FirstLook({ system, settings, inotify, rescan, watches })
  const translator = new Translator(tree, rules, pending)
  const shortage = new Shortage(reporter)
  const followUp = new FollowUp({ tree, translator, rescan, looker, pending, reporter, shortage })
  const events = new EventHandler({ tree, translator, looker, rules, pending, reporter, shortage, followUp })

  const coverings = new Coverings({ tree, rules, byPath })
  const forest = new RootForest({
    tree,
    rules,
    pending,
    watches,
    reporter,
    byPath,
    coverings,
    pathWatches,
  })
  const coveredRoots = new CoveredRoots({ tree, forest, coverings, reporter })
  const paths = new RootPaths({ system, sourceChoice, settings })
  const files = new FileRoots({
    system,
    paths,
    inotify,
    pathWatches,
    byPath,
    watches,
    coverings,
    sourceChoice,
    watchShortage,
    reporter,
  })
  const links = new FollowedLinks({
    system,
    rules,
    tree,
    pending,
    sourceChoice,
    watchShortage,
    looker,
    inotify,
    linkIndex: new LinkIndex(pathWatches),
    watches,
    reporter,
    shortage,
  })
  const since =
    settings.since === undefined
      ? undefined
      : new Since({ saving: system.saving, tree, sourceChoice, reporter }, settings.since)
  const awaited = new AwaitedRoots({ settings, system, paths, pathWatches, watches, inotify })
  const savedRoots = new SavedRoots({ since, settings, tree, forest, coverings, paths, reporter })
  const attacher = new Attacher({
    awaited,
    savedRoots,
    settings,
    paths,
    tree,
    sourceChoice,
    rescan,
    inotify,
    coverings,
    forest,
    files,
    pathWatches,
    watches,
    watchShortage,
    mountWatch,
    reporter,
  })
  const fileBatch = new FileBatch({
    system,
    paths,
    looker,
    settings,
    attacher,
    sourceChoice,
    inotify,
    files,
    coverings,
    watchShortage,
  })
  const rootMonitor = new RootMonitor({
    system,
    tree,
    translator,
    pending,
    looker,
    files,
    attacher,
    mountWatch,
    forest,
    reporter,
  })

  const mountedFiles = new MountedFiles({
    system,
    tree,
    looker,
    inotify,
    sourceChoice,
    forest,
    links,
    watches,
    reporter,
    byPath,
    pathWatches,
  })
  const submounts = new Submounts({
    tree,
    pending,
    rootMonitor,
    links,
    forest,
    byPath,
    mountedFiles,
  })
  const overflowRecovery = new OverflowRecovery({
    system,
    queue,
    tree,
    translator,
    pending,
    rescan,
    followUp,
    rootMonitor,
    forest,
    inotify,
    watches,
    reporter,
    shortage,
  })
  const pollInterval = new PollInterval(settings.interval, warnOfSlowPolls)
  const pollScope = new PollScope({ settings, rules, tree, forest, files, links, mountedFiles })
  const poller = new Poller({
    system,
    settings,
    queue,
    tree,
    scope: pollScope,
    links,
    mountedFiles,
    events,
    followUp,
    rescan,
    rootMonitor,
    forest,
    inotify,
    reporter,
    shortage,
    pollInterval,
  })
  const polls = new RepeatingTask({
    every: () => pollInterval.rest,
    clock: system.clock,
    failed: (error) => reporter.trouble(error),
    needed: () => pollScope.isNeeded(),
    run: () => poller.poll(),
    pollIdle: () => poller.pollIdle(),
    interrupt: (isRunDue) => poller.interrupt(isRunDue),
  })
  const believed = new Believed(tree, byPath, queue)
  const saver = new Saver({ system, rules, tree, pending, forest, looker })
  const settle = new Settle({
    system,
    queue,
    pending,
    followUp,
    rootMonitor,
    inotify,
    mountWatch,
    polls,
    reporter,
  })
  return {
    rules,
    tree,
    pending,
    reporter,
    inotify,
    pathWatches,
    watches,
    rescan,
    firstLook,
    translator,
    events,
    followUp,
    forest,
    coveredRoots,
    files,
    links,
    attacher,
    fileBatch,
    rootMonitor,
    submounts,
    mountedFiles,
    overflowRecovery,
    pollInterval,
    pollScope,
    poller,
    polls,
    settle,
    believed,
    since,
    savedRoots,
    saver,
  }
}

function warnOfSlowPolls(slowness: string): void {
  warn(
    'INOTIFY_BRIDGE_SLOW_POLL',
    `what is watched is ${slowness}`,
    'Changes are told late. A longer interval, or fewer directories, would take less of a processor.',
  )
}
