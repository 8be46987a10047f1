import { type Found, scenario } from './found_scenario.ts'

/** Schedules in which inotify and polls watch the same mount. */
export const FOUND_BOTH_SOURCES: readonly Found[] = [
  {
    what: 'a directory that was dropped with what it lay in is not found to have moved',
    scenario: scenario(
      { source: 'inotify+poll', isAtomic: false },
      [
        { type: 'write', path: '/t/a/f' },
        { type: 'rename', path: '/t/b', other: '/t/d' },
        { type: 'exchange', path: '/t/a/f', other: '/out/o' },
        { type: 'rename', path: '/out/x', other: '/t/a/d' },
        { type: 'rename', path: '/t/a/f/p', other: '/out/f' },
        { type: 'exchange', path: '/t/d', other: '/t/a/f' },
      ],
      { 4: 1, 23: 1, 46: 1 },
    ),
  },
  {
    what: 'polled as well, a file renamed, then written: the write is told where an overflow has swallowed it',
    scenario: scenario({ source: 'inotify+poll', queue: 2 }, [
      { type: 'rename', path: '/t/a/f', other: '/t/n' },
      { type: 'append', path: '/t/n' },
    ]),
  },
  {
    what: 'polled as well, a file renamed, then replaced: the other file is told where an overflow has swallowed its rename',
    scenario: scenario({ source: 'inotify+poll', queue: 2 }, [
      { type: 'rename', path: '/t/b/g', other: '/t/n' },
      { type: 'rename', path: '/t/b/d/h', other: '/t/n' },
    ]),
  },
  {
    what: 'polled as well, an exchange with a mark between its halves: both files are told',
    scenario: scenario(
      { source: 'inotify+poll', isAtomic: false },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'touch', path: '/t/b' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
      ],
      { 10: 5 },
    ),
  },
  {
    what: 'polled as well, a file moved in over one that was renamed there just now: the kernel merges the two IN_MOVED_TO',
    scenario: scenario({ source: 'inotify+poll' }, [
      { type: 'rename', path: '/t/b/d/h', other: '/t/a/d' },
      { type: 'rename', path: '/out/x', other: '/t/a/d' },
    ]),
  },
  {
    what: 'polled as well, an exchange of which a rescan has told and the queue has the second rename alone: both files are told',
    scenario: scenario(
      { source: 'inotify+poll', lost: 1, isAtomic: false },
      [
        { type: 'append', path: '/t/b/g' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b/d/h' },
      ],
      { 4: 1 },
    ),
  },
  {
    what: 'polled as well, a file that was written twice within a tick of the clock: the second time is told where an overflow has swallowed it',
    scenario: scenario(
      { source: 'inotify+poll', queue: 2, msPerStep: 0.1, isAtomic: false },
      [
        { type: 'create', path: '/t/a/g' },
        { type: 'rename', path: '/out/o', other: '/t/g' },
        { type: 'remove', path: '/t/b' },
        { type: 'create', path: '/t/a/f' },
        { type: 'write', path: '/t/a/g' },
        { type: 'create', path: '/t/a/f' },
      ],
      { 19: 1 },
    ),
  },
  {
    what: 'what an exchange was taken for is in doubt wherever it is renamed to: looks ahead of events have shown it there, and no poll found it',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64, lost: 2, isAtomic: false },
      [
        { type: 'remove', path: '/t/a/f' },
        { type: 'write', path: '/t/b/n' },
        { type: 'mkdir', path: '/t/f' },
        { type: 'rename', path: '/t/a', other: '/t/m' },
        { type: 'rename', path: '/t/m', other: '/out/g' },
        { type: 'write', path: '/t/f/m' },
        { type: 'rename', path: '/out/x', other: '/t/n' },
        { type: 'rename', path: '/t/f/m', other: '/t/m' },
        { type: 'write', path: '/t/f/m' },
        { type: 'exchange', path: '/t/f/m', other: '/t/n' },
        { type: 'write', path: '/t/g' },
        { type: 'exchange', path: '/t/m', other: '/t/g' },
        { type: 'rename', path: '/t/m', other: '/t/d' },
      ],
      { 13: 1, 42: 1, 64: 1, 85: 1, 89: 1 },
    ),
  },
  {
    what: 'an exchange of two files that looks had shown ahead of their events',
    scenario: scenario(
      { source: 'inotify+poll', queue: 16384, isAtomic: false },
      [
        { type: 'rename', path: '/out/o/p', other: '/t/b/f' },
        { type: 'write', path: '/t/b/g' },
        { type: 'touch', path: '/t/b/d/h' },
        { type: 'write', path: '/t/a/f' },
        { type: 'exchange', path: '/t/b/f', other: '/out/x' },
        { type: 'rename', path: '/t/b/f', other: '/t/b/g' },
        { type: 'rename', path: '/t/b/d', other: '/t/b/d' },
        { type: 'write', path: '/t/a/d' },
        { type: 'rename', path: '/t/b/d/h', other: '/out/d' },
        { type: 'write', path: '/t/a/f' },
        { type: 'rename', path: '/t/b/g', other: '/t/b/g' },
        { type: 'create', path: '/t/a/n' },
        { type: 'rename', path: '/t/a/d', other: '/t/a/m' },
        { type: 'exchange', path: '/t/b', other: '/out/d' },
        { type: 'write', path: '/t/a/m' },
        { type: 'rename', path: '/t/a/n', other: '/t/a/d' },
        { type: 'append', path: '/t/a/m' },
        { type: 'touch', path: '/t/a/f' },
        { type: 'rename', path: '/t/a/m', other: '/out/m' },
        { type: 'write', path: '/t/a/f' },
        { type: 'append', path: '/t/b' },
        { type: 'write', path: '/t/a/f' },
        { type: 'exchange', path: '/t/a/d', other: '/t/b' },
      ],
      { 21: 2, 51: 1, 79: 2, 101: 1, 104: 5, 132: 1, 136: 1 },
    ),
  },
  {
    what: 'what may be the other one of an exchange was never seen, so that no look can tell',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64, lost: 3, isAtomic: false },
      [
        { type: 'write', path: '/t/k' },
        { type: 'remove', path: '/t/a/f' },
        { type: 'write', path: '/t/b/n' },
        { type: 'mkdir', path: '/t/f' },
        { type: 'rename', path: '/t/a', other: '/t/m' },
        { type: 'rename', path: '/t/m', other: '/out/g' },
        { type: 'write', path: '/t/f/m' },
        { type: 'rename', path: '/out/x', other: '/t/n' },
        { type: 'rename', path: '/t/f/m', other: '/t/m' },
        { type: 'write', path: '/t/f/m' },
        { type: 'exchange', path: '/t/f/m', other: '/t/n' },
        { type: 'write', path: '/t/g' },
        { type: 'exchange', path: '/t/m', other: '/t/g' },
      ],
      { 13: 1, 41: 1, 42: 1, 52: 1, 64: 1, 85: 1 },
    ),
  },
  {
    what: 'a written file is exchanged for one that an exchange with what lies outside has brought, which was told to be gone again: it is told as another',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64 },
      [
        { type: 'append', path: '/t/b/g' },
        { type: 'append', path: '/out/x' },
        { type: 'exchange', path: '/out/x', other: '/t/a/f' },
        { type: 'exchange', path: '/t/b/g', other: '/t/a/f' },
      ],
      { 1: 1 },
    ),
  },
  {
    what: 'likewise where it was renamed before anybody saw it as it was written',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64 },
      [
        { type: 'append', path: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/n' },
        { type: 'append', path: '/out/x' },
        { type: 'exchange', path: '/out/x', other: '/t/a/f' },
        { type: 'exchange', path: '/t/n', other: '/t/a/f' },
      ],
      { 2: 1 },
    ),
  },
  {
    what: 'likewise where it was renamed before anybody saw which file it is',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64 },
      [
        { type: 'write', path: '/t/b/n' },
        { type: 'rename', path: '/t/b/n', other: '/t/n' },
        { type: 'append', path: '/out/x' },
        { type: 'exchange', path: '/out/x', other: '/t/a/f' },
        { type: 'exchange', path: '/t/n', other: '/t/a/f' },
      ],
      { 2: 1 },
    ),
  },
  {
    what: 'likewise where an exchange with what is ignored has brought the other',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64, ignored: 'm' },
      [
        { type: 'rename', path: '/out/x', other: '/t/b/d/m' },
        { type: 'write', path: '/t/b/d/g' },
        { type: 'write', path: '/t/b/d/m' },
        { type: 'exchange', path: '/t/b/d/m', other: '/t/b/d/h' },
        { type: 'exchange', path: '/t/b/d/g', other: '/t/b/d/h' },
      ],
      { 2: 1 },
    ),
  },
  {
    what: 'likewise where a listing has shown it since, in a directory that has moved',
    scenario: scenario(
      { source: 'inotify+poll', queue: 64, ignored: 'm' },
      [
        { type: 'write', path: '/t/b/d/g' },
        { type: 'rename', path: '/t/b/d', other: '/t/e' },
        { type: 'append', path: '/out/x' },
        { type: 'exchange', path: '/out/x', other: '/t/e/h' },
        { type: 'exchange', path: '/t/e/g', other: '/t/e/h' },
      ],
      { 2: 1 },
    ),
  },
  {
    what: 'polled as well, what had no event is told where an exchange has brought it to the name of what was told before',
    scenario: scenario(
      { source: 'inotify+poll' },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'remove', path: '/t/a/d' },
        { type: 'mkdir', path: '/t/a/d' },
        { type: 'write', path: '/t/a/d/f' },
        { type: 'exchange', path: '/t/b/g', other: '/t/a/d/f' },
        { type: 'remove', path: '/t/a/d/f' },
      ],
      { 1: 1, 9: 1, 16: 1 },
    ),
  },
]
