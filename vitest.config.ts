import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configDefaults, defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const isLong = process.env.LONG !== undefined

/**
 * The files that share something of the machine with others, or need it for themselves: they run one at a time, when all others have run.
 * A file in doubt belongs here.
 */
const ALONE = [
  // They set fs.inotify.max_queued_events, which is that of every instance made meanwhile, whoever makes it.
  'test/watch/engine/overflow.test.ts',
  'test/watch/model/{found,model,mutations}.test.ts',
  'test/watch/model/stress/stress.test.ts',
  'test/watch/traps_of_limits.test.ts',
  // They hear of all that is changed on a file system: with the changes of others the kernel's queue overflows.
  'test/inotify/fanotify.test.ts',
  'test/watch/by.test.ts',
  // It mounts in the namespace that all are in, whose mount table others watch.
  'test/mirror/mounts.test.ts',
  // They compare times, or bound them closely.
  'test/mirror/silent.test.ts',
  'test/reload/many_files.test.ts',
  'test/watch/events/translator_renames.test.ts',
  'test/watch/regressions/{deep_trees,entry_cache,recovery}.test.ts',
]

/** They run when all but those have, two at a time: for most of their time they wait. */
const PAIRED = [
  // They bound times, but by half a second at least more than they take.
  'test/faults/faults.test.ts',
  'test/mirror/{scenarios,stopped,times}.test.ts',
  'test/native/walker_circumstances.test.ts',
  'test/run/relay.test.ts',
  // Their programs are given ports that were free a moment ago: the kernel gives each another, and the others here take none.
  'test/examples/{dev_servers,shown}.test.ts',
]

/**
 * Each of these has a process of its own. The others take turns in a few: to start a process and load what a test imports is more than half of what
 * most of them cost.
 */
const ISOLATED = [
  // They count what a process has: threads, descriptors, instances, watches, memory; or what it hears: exceptions, rejections, warnings.
  'test/inotify/{guard,hand_over,inotify,lifecycle,limits,shared_instance,window}.test.ts',
  'test/native/{calls,pidfd,walker,walker_lifecycle,walker_ways}.test.ts',
  'test/errors.test.ts',
  'test/fs/{polls,promises,watch}.test.ts',
  'test/mirror/{faults,lifecycle}.test.ts',
  'test/mounts/{diagnose,mount_of,remove_tree}.test.ts',
  'test/publish/{directory_lock,replace_file}.test.ts',
  'test/reload/{reloader,signal}.test.ts',
  'test/watch/{lifecycle,shared_watchers,traps_of_trees}.test.ts',
  'test/watch/engine/overflow_recovery.test.ts',
  'test/watch/regressions/{file_roots,renewed_ways}.test.ts',
  'test/watch/poll/poller.test.ts',
  'test/watch/roots/ways.test.ts',
  // It has garbage collected all the time, which takes as long as there is much of it.
  'test/reload/http.test.ts',
  // It has modules replaced.
  'test/mounts/mount_watch.test.ts',
]

// The guest's boot a virtual machine: npm run test:guest.
const EXCLUDED = [...configDefaults.exclude, 'test/guest/**']

const names = (text: string) => text.trim().split(/\s+/)

/**
 * The files that `npm run test:long` has alone, by how their names begin: programs of others, many processes one after another, mounts that servers of
 * ours serve, and faults that took many roots, orders or levels to be found. They take as long as all others together.
 */
const LATER = names(`
  integration/ docs/site examples/ faults/ fuzz/ pack/
  cli/completion cli/diagnose cli/enter cli/first_pass cli/in_place cli/inherited cli/inotifywait cli/listen cli/mirror_service cli/raw_silent
  cli/restart cli/watch_command cli/watch_recursive
  drop_ins/hand_over
  inotify/guard inotify/hand_over
  mirror/model/known_rounds mirror/over_limit mirror/reached mirror/rotated mirror/scenarios mirror/stopped mirror/target_entries
  mirror/times native/packing native/walker_circumstances
  reload/hidden_processes reload/many_files reload/other_clocks reload/restless reload/silent
  run/both_sides run/programs run/relay
  watch/engine/retry watch/gitignore/git_hold watch/identity/passing_numbers watch/poll/stat_only watch/poll/stopped watch/ref watch/saved/nested_roots
  watch/regressions/deep_trees watch/regressions/file_roots_together watch/regressions/followed_links/bytes watch/regressions/followed_links/swapped
  watch/regressions/followed_links/together watch/regressions/polled_moves watch/regressions/roots_in_any_order
`)

/** Of the files that ask whether they have time for more rounds, those that npm test plays few of. It leaves out the others. */
const BOTH = names(`
  chokidar/chokidar cli/watch docs/run inotify/differential mirror/invariant mirror/model/model mirror/target native/walker
  scripts/scripts simulation/found simulation/simulation watch/regressions/followed_links/links
  watch/model/model watch/saved/random watch/saved/since watch/scenarios watch/traps
`)

const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.test.ts'),
)
// Whoever names files, or tests, has them all.
const isNamed = process.argv
  .slice(3)
  .some((word) => word === '-t' || files.some((file) => join('test', file).includes(word)))
const others = files.filter((file) => !isNamed && !isPlayed(file)).map((file) => join('test', file))

function isPlayed(file: string): boolean {
  const hasMore = /support\/long\.ts'/.test(readFileSync(join('test', file), 'utf8'))
  const isLater = LATER.some((name) => file.startsWith(name))
  return isLong ? hasMore || isLater : !(hasMore || isLater) || BOTH.includes(file.replace('.test.ts', ''))
}

/**
 * They take longest, and most of that they wait: they begin first, so that none of them is what all others have been done with for long. vitest knows only
 * after the first run how long a file takes, and with LONG it knows the seconds that they have without.
 */
const FIRST = names(
  isLong
    ? `
  simulation/simulation pack/pack examples/image watch/scenarios watch/deep simulation/found run/scripts scripts/scripts
  watch/regressions/followed_links/round pack/build simulation/put_back mirror/situations watch/regressions/few_watches pack/binaries mirror/model/model
  watch/regressions/file_roots_any_moment mirror/raced run/programs watch/engine/retry watch/poll/stat_only cli/diagnose cli/listen reload/restless
`
    : `
  scripts/scripts cli/watch simulation/simulation mirror/model/model watch/same_turn watch/roots/awaited_roots cli/publish
  watch/roots/forest/root_forest cli/exec watch/regressions/exchange chokidar/swapped_links publish/publish_directory mirror/target_entries
`,
)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      FIRST.findIndex((name) => moduleId.endsWith(`test/${name}.test.ts`)) >>> 0
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => place(a) - place(b))
  }
}

// More than a small machine has processors: most wait for processes and timers for half of the time, and with LONG for three quarters.
const WORKERS = isLong ? 8 : 6

const projects: TestProjectConfiguration[] = [
  {
    extends: true,
    test: {
      name: 'parallel',
      include: ['test/**/*.test.ts'],
      exclude: [...EXCLUDED, ...ALONE, ...PAIRED, ...ISOLATED, ...others],
      isolate: false,
      maxWorkers: WORKERS,
      sequence: { groupOrder: 0 },
    },
  },
  {
    extends: true,
    test: {
      name: 'isolated',
      include: ISOLATED,
      exclude: [...EXCLUDED, ...ALONE, ...PAIRED, ...others],
      maxWorkers: WORKERS,
      sequence: { groupOrder: 0 },
    },
  },
  {
    extends: true,
    test: {
      name: 'paired',
      include: PAIRED,
      exclude: [...EXCLUDED, ...others],
      isolate: false,
      maxWorkers: 2,
      sequence: { groupOrder: 1 },
    },
  },
  {
    extends: true,
    test: {
      name: 'alone',
      include: ALONE,
      exclude: [...EXCLUDED, ...others],
      // Where nothing else runs, each start of a process is waited for.
      isolate: false,
      maxWorkers: 1,
      sequence: { groupOrder: 2 },
    },
  },
]

export default defineConfig({
  test: {
    projects,
    globalSetup: 'test/support/programs.ts',
    setupFiles: ['test/support/engine.ts'],
    sequence: { sequencer: LongestFirst },
    // What hangs, hangs for longer; what is awaited may take ten times as long on a machine that does something else as well, and half a minute of
    // nothing but computing is of several that share it. A condition is awaited for less, so that it is named when it does not come about.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
  },
})
