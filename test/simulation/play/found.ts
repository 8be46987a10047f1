import { ORDINARY, type Scenario, type Settings } from './scenario.ts'

/** @param chosen by step; at all others it is 0 */
function scenario(
  settings: Partial<Settings>,
  operations: Scenario['operations'],
  chosen: Record<number, number> = {},
  tree: Scenario['tree'] = 'small',
): Scenario {
  const length = 1 + Math.max(-1, ...Object.keys(chosen).map(Number))
  const choices = Array.from({ length }, (_, step) => chosen[step] ?? 0)
  return { settings: { ...ORDINARY, ...settings }, tree, operations, choices }
}

/** Schedules by which a change was lost, or told as something else, once; each as short as it goes. */
export const FOUND: ReadonlyArray<{ what: string; scenario: Scenario }> = [
  {
    what: 'a directory that moves while a rescan goes by it is looked into',
    scenario: scenario(
      { lost: 1 },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/b/d', other: '/t/a/d' },
      ],
      { 1: 1, 19: 2 },
    ),
  },
  {
    what: 'a root that moves on while it is rescanned loses nothing that was done in it before',
    scenario: scenario(
      { lost: 2 },
      [
        { type: 'write', path: '/t/a/n' },
        { type: 'rename', path: '/t/a/f', other: '/out/m' },
        { type: 'rename', path: '/t/a', other: '/t/d' },
      ],
      { 2: 1, 11: 1 },
    ),
  },
  {
    what: 'a watched directory that is moved into one polled for want of a watch is told',
    scenario: scenario({ watches: 3 }, [{ type: 'rename', path: '/t/a', other: '/t/b/d/n' }]),
  },
  {
    what: 'a directory made in one polled for want of a watch is told',
    scenario: scenario({ watches: 3 }, [{ type: 'mkdir', path: '/t/b/d/n' }]),
  },
  {
    what: 'a followed link whose directory goes is a link',
    scenario: scenario({ followSymlinks: true }, [{ type: 'remove', path: '/t/b' }], [], 'links'),
  },
  {
    what: 'a followed link whose directory is renamed is a link',
    scenario: scenario(
      { followSymlinks: true },
      [{ type: 'rename', path: '/t/b', other: '/t/n' }],
      {},
      'links',
    ),
  },
  {
    what: 'a followed link to nowhere is followed when something comes',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'symlink', path: '/t/m', target: 'n' },
        { type: 'mkdir', path: '/t/n' },
      ],
      { 1: 1 },
      'links',
    ),
  },
  {
    what: 'a followed link that leads elsewhere after an overflow is told',
    scenario: scenario(
      { followSymlinks: true, lost: 1 },
      [{ type: 'swap', path: '/t/k', target: '/t/a' }],
      {},
      'links',
    ),
  },
  {
    what: 'polled, a followed link that leads to a file now is a link',
    scenario: scenario(
      { followSymlinks: true, source: 'poll' },
      [{ type: 'swap', path: '/t/k', target: '/t/a/f' }],
      {},
      'links',
    ),
  },
  {
    what: 'a link over which a followed one leads is swapped',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'symlink', path: '/out/current', target: '/out/o' },
        { type: 'symlink', path: '/t/m', target: '/out/current' },
        { type: 'swap', path: '/out/current', target: '/t/a' },
      ],
      { 2: 1 },
      'links',
    ),
  },
  {
    what: 'what settle holds back goes with both halves of an exchange',
    scenario: scenario({ settle: 20 }, [
      { type: 'append', path: '/t/a/f' },
      { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
    ]),
  },
  {
    what: 'nested roots tell a change once',
    scenario: scenario({ nesting: 'outer first' }, [{ type: 'create', path: '/t/b/n' }]),
  },
  {
    what: 'nested roots tell a rename from the one into the other as a rename',
    scenario: scenario({ nesting: 'outer first' }, [{ type: 'rename', path: '/t/a/f', other: '/t/b/n' }]),
  },
  {
    what: 'an inner root is exchanged with what lies outside while the outer one is added',
    scenario: scenario({ nesting: 'outer added' }, [{ type: 'exchange', path: '/t/b', other: '/out' }]),
  },
  {
    what: 'an outer root is removed while the inner one has been exchanged: what was in doubt is told of neither',
    scenario: scenario(
      { nesting: 'outer removed', isAtomic: false },
      [{ type: 'exchange', path: '/t/b', other: '/out' }],
      { 3: 1 },
    ),
  },
  {
    what: 'an inner root is renamed before the outer one that is added has seen it',
    scenario: scenario({ nesting: 'outer added' }, [{ type: 'rename', path: '/t/b', other: '/t/n' }]),
  },
  {
    what: 'a file renamed, then written: the write is told where an overflow has swallowed it',
    scenario: scenario({ queue: 2 }, [
      { type: 'rename', path: '/t/a/f', other: '/t/n' },
      { type: 'append', path: '/t/n' },
    ]),
  },
  {
    what: 'an exchange of two files whose halves come in two reads',
    scenario: scenario({ isAtomic: false }, [{ type: 'exchange', path: '/t/a/f', other: '/t/b/g' }], {
      3: 1,
    }),
  },
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
    what: 'a file moved in over one that was renamed there just now: the kernel merges the two IN_MOVED_TO',
    scenario: scenario({}, [
      { type: 'rename', path: '/t/b/g', other: '/t/a/f' },
      { type: 'rename', path: '/out/x', other: '/t/a/f' },
    ]),
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
    what: 'a directory that is polled for want of a watch, and exchanged in two reads, is not taken for another',
    scenario: scenario(
      { watches: 3, msPerStep: 5, isAtomic: false },
      [
        { type: 'create', path: '/t/b/f' },
        { type: 'write', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/a/f', other: '/t/a/g' },
        { type: 'write', path: '/t/a/d' },
        { type: 'mkdir', path: '/t/a/n' },
        { type: 'write', path: '/t/b/d/g' },
        { type: 'exchange', path: '/t/b/g', other: '/t/b/d' },
      ],
      [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
      ],
    ),
  },
  {
    what: 'a followed link that changes places with a file in what it leads to is told where it is',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'exchange', path: '/t/l', other: '/t/b/d/h' },
        { type: 'remove', path: '/t/b/d' },
      ],
      [],
      'links',
    ),
  },
  {
    what: 'a link in what a swapped link leads to is followed by the rescan',
    scenario: scenario(
      { lost: 3, followSymlinks: true },
      [
        { type: 'swap', path: '/t/k', target: '/t/l' },
        { type: 'symlink', path: '/t/b/n', target: '/out/o' },
      ],
      [],
      'links',
    ),
  },
  {
    what: 'a file polled for want of a watch, written, and then moved with what lies above it',
    scenario: scenario(
      { watches: 3, isAtomic: false },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'mkdir', path: '/t/a/d' },
        { type: 'mkdir', path: '/t/n' },
        { type: 'rename', path: '/t/b', other: '/t/n/f' },
      ],
      { 8: 1 },
    ),
  },
  {
    what: 'a followed link that has become a directory, by polling',
    scenario: scenario(
      { source: 'poll', followSymlinks: true },
      [
        { type: 'rename', path: '/t/k', other: '/t/b/n' },
        { type: 'exchange', path: '/t/l', other: '/t/b' },
        { type: 'rename', path: '/t/l/n', other: '/t/l/d/f' },
      ],
      [],
      'links',
    ),
  },
  {
    what: 'a followed link that leads to where it lies, by polling',
    scenario: scenario(
      { source: 'poll', followSymlinks: true },
      [{ type: 'swap', path: '/t/l', target: '/t' }],
      [],
      'links',
    ),
  },
  {
    what: 'what was written in a directory that was polled for want of a watch is told when it gets one',
    scenario: scenario({ watches: 3 }, [
      { type: 'write', path: '/t/b/d/h' },
      { type: 'mkdir', path: '/t/n' },
      { type: 'rename', path: '/t/b', other: '/t/n/f' },
    ]),
  },
  {
    what: 'a poll that leaves a directory to events has not told what was written in it, where it is polled for want of a watch',
    scenario: scenario(
      { watches: 3, msPerStep: 50 },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b/d' },
      ],
      { 4: 1 },
    ),
  },
  {
    what: 'links that lead round over a directory: it is found by several ways, and has one place',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'symlink', path: '/t/b/d/n', target: '/t/b' },
        { type: 'symlink', path: '/t/d', target: '/t/b/d' },
      ],
      [],
      'links',
    ),
  },
  {
    what: 'what has left by two paths, and arrives by one of them, does not arrive a second time',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'rename', path: '/t/b/g', other: '/t/a/f' },
        { type: 'write', path: '/t/a/f' },
        { type: 'mkdir', path: '/t/b/g' },
      ],
      [],
      'links',
    ),
  },
  {
    what: 'what has left by two paths, and is exchanged by one of them, has not left the other',
    scenario: scenario(
      { lost: 2, followSymlinks: true },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'create', path: '/t/g' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/k' },
      ],
      { 2: 1, 10: 1, 12: 1 },
      'links',
    ),
  },
  {
    what: 'a followed link that is back at its name is not given up',
    scenario: scenario(
      { queue: 2, followSymlinks: true, msPerStep: 5, isAtomic: false },
      [
        { type: 'remove', path: '/t/a/f' },
        { type: 'symlink', path: '/t/a/d', target: '/out/o' },
        { type: 'rename', path: '/t/b/g', other: '/t/k' },
        { type: 'write', path: '/t/k' },
        { type: 'exchange', path: '/t/a/d', other: '/t/b/d/h' },
      ],
      { 6: 5, 9: 1, 11: 1, 14: 1, 17: 1, 18: 1, 21: 1, 24: 5, 26: 1, 36: 5 },
      'links',
    ),
  },
  {
    what: 'what was held back and has left the tree is told to be gone with what held it back, not after sync()',
    scenario: scenario(
      {},
      [
        { type: 'mkdir', path: '/t/g' },
        { type: 'rename', path: '/t/b/d', other: '/t/g/m' },
        { type: 'create', path: '/t/g/m/f' },
        { type: 'rename', path: '/t/g/m/f', other: '/t/a/m' },
      ],
      [],
      'links',
    ),
  },
]
