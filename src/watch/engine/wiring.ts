import type { MountWatch } from '../../mounts/mount_watch.ts'
import type { TaskQueue } from '../../task_queue.ts'
import { warn } from '../../warning.ts'
import { Rescan } from '../diff/rescan.ts'
import { EventHandler } from '../events/event_handler.ts'
import { type InotifyListener, InotifySource } from '../events/inotify_source.ts'
import { Translator } from '../events/translator.ts'
import { WatchRelease } from '../events/watch_release.ts'
import type { Settings } from '../options.ts'
import { Pending } from '../pending/pending.ts'
import { PollInterval } from '../poll/poll_interval.ts'
import { Poller } from '../poll/poller.ts'
import { Reporter, type WatchListener } from '../report/reporter.ts'
import { Shortage } from '../report/shortage.ts'
import { Attacher } from '../roots/attach.ts'
import { Coverings } from '../roots/covering.ts'
import type { FileRoot } from '../roots/file_root.ts'
import { FileRoots } from '../roots/file_roots.ts'
import { FollowedLinks } from '../roots/followed_links.ts'
import type { FollowedLink } from '../roots/link_watches.ts'
import { PathWatches } from '../roots/path_watches.ts'
import type { Root } from '../roots/root.ts'
import { RootForest } from '../roots/root_forest.ts'
import { RootMonitor } from '../roots/root_monitor.ts'
import { rulesOf } from '../rules.ts'
import { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import { EntryCache } from '../tree/entry_cache.ts'
import { Tree } from '../tree/tree.ts'
import { OverflowRecovery } from './overflow_recovery.ts'
import { RepeatingTask } from './repeating_task.ts'
import { Settle } from './settle.ts'
import { Submounts } from './submounts.ts'

/** What an engine is made of, and what it brings along itself. */
export interface Given {
  settings: Settings
  system: WatchSystem
  /** By their paths, those that are watched or looked for. */
  byPath: ReadonlyMap<string, Root>
  /** What changes what is believed goes through here, one at a time. */
  queue: TaskQueue
  mountWatch: Pick<MountWatch, 'open'>
  listener: WatchListener
  inotifyListener: InotifyListener
}

export type Wired = ReturnType<typeof wire>

/** Puts the rooms together, from the bottom up: each is given those below it, and knows no other. */
export function wire({ settings, system, byPath, queue, mountWatch, listener, inotifyListener }: Given) {
  const rules = rulesOf(settings)
  const sourceChoice = new SourceChoice(system, settings)
  const tree = new Tree(new EntryCache(system.entryCacheSize))
  const pending = new Pending(tree, system.clock.now())
  const reporter = new Reporter(settings, system.clock, listener)
  const inotify = new InotifySource(system, settings, inotifyListener)

  const rootWays = new PathWatches<Root>()
  const fileWays = new PathWatches<FileRoot>()
  const linkWays = new PathWatches<FollowedLink>()
  const watches = new WatchRelease(tree, inotify, [rootWays, fileWays, linkWays])

  const rescan = new Rescan({ settings, system, rules, tree, pending, inotify, sourceChoice, reporter })
  const { looker } = rescan
  const translator = new Translator(tree, rules, pending)
  const shortage = new Shortage(reporter)
  const events = new EventHandler({ tree, translator, rescan, looker, rules, pending, reporter, shortage })

  const coverings = new Coverings({ tree, rules, byPath })
  const forest = new RootForest({
    tree,
    rules,
    pending,
    watches,
    reporter,
    byPath,
    coverings,
    ways: rootWays,
  })
  const files = new FileRoots({ system, inotify, ways: fileWays, watches, coverings, reporter })
  const links = new FollowedLinks({
    system,
    tree,
    pending,
    sourceChoice,
    rescan,
    looker,
    inotify,
    ways: linkWays,
    watches,
    reporter,
    shortage,
  })
  const attacher = new Attacher({
    settings,
    system,
    sourceChoice,
    rescan,
    inotify,
    coverings,
    forest,
    files,
    ways: rootWays,
    watches,
    mountWatch,
    reporter,
  })
  const rootMonitor = new RootMonitor({
    tree,
    translator,
    pending,
    looker,
    files,
    attacher,
    forest,
    reporter,
    byPath,
  })

  const submounts = new Submounts({ tree, pending, events, rootMonitor, forest })
  const overflowRecovery = new OverflowRecovery({
    system,
    settings,
    queue,
    tree,
    translator,
    pending,
    rescan,
    events,
    rootMonitor,
    forest,
    inotify,
    watches,
    reporter,
  })
  const pace = new PollInterval(settings.interval, warnOfSlowPolls)
  const poller = new Poller({
    system,
    settings,
    rules,
    queue,
    tree,
    files,
    links,
    events,
    rescan,
    rootMonitor,
    forest,
    inotify,
    reporter,
    pace,
  })
  const polls = new RepeatingTask({
    every: () => pace.rest,
    persistent: settings.persistent,
    clock: system.clock,
    failed: (error) => reporter.trouble(error),
    needed: () => poller.isNeeded(),
    run: () => poller.poll(),
    pollIdle: () => poller.pollIdle(),
    interrupt: (isRunDue) => poller.interrupt(isRunDue),
  })
  const settle = new Settle({
    system,
    settings,
    queue,
    pending,
    events,
    rootMonitor,
    inotify,
    polls,
    reporter,
  })
  return {
    tree,
    pending,
    reporter,
    inotify,
    rootWays,
    watches,
    rescan,
    translator,
    events,
    forest,
    files,
    links,
    attacher,
    rootMonitor,
    submounts,
    overflowRecovery,
    pace,
    poller,
    polls,
    settle,
  }
}

function warnOfSlowPolls(slowness: string): void {
  warn(
    'INOTIFY_BRIDGE_SLOW_POLL',
    `what is watched is ${slowness}`,
    'Changes are told late. A longer interval, or fewer directories, would take less of a processor.',
  )
}
