import { type Found, scenario } from './found_scenario.ts'

/** Schedules with opens and reads that fail for a while. */
export const FOUND_FAILURES: readonly Found[] = [
  {
    what: 'polled, a root that could not be opened for want of a descriptor is not lost',
    scenario: scenario({ source: 'poll', fails: 4 }, [], {}, 'small'),
  },
  {
    what: 'a directory has neither a watch nor a descriptor during a recovery, which goes on',
    scenario: scenario(
      { lost: 1, watches: 3, fails: 4, failsAfter: 11 },
      [{ type: 'touch', path: '/t/b/d' }],
      {},
      'small',
    ),
  },
  {
    what: 'a look at a name in the root, for which there was no descriptor, is made again',
    scenario: scenario(
      { fails: 4, followSymlinks: true, start: 'settled', isAtomic: false },
      [
        { type: 'rename', path: '/out/o', other: '/t/b/n' },
        { type: 'write', path: '/t/b/g' },
      ],
      { 6: 1 },
      'links',
    ),
  },
  {
    what: 'a directory that could be read in part alone is compared with what that part has told',
    scenario: scenario(
      { fails: 3, failsBy: 'ENOMEM', failsAfter: 4, failsOneIn: 3, namesPerRead: 1, isAtomic: false },
      [
        { type: 'create', path: '/t/f' },
        { type: 'mkdir', path: '/t/m' },
        { type: 'append', path: '/t/a/f' },
        { type: 'write', path: '/t/m/m' },
        { type: 'write', path: '/t/m/n' },
        { type: 'append', path: '/t/b/d/h' },
        { type: 'write', path: '/t/m/n' },
        { type: 'append', path: '/t/b/g' },
        { type: 'mkdir', path: '/t/m/f' },
        { type: 'rename', path: '/out/o/p', other: '/t/a/g' },
        { type: 'rename', path: '/out/o', other: '/t/m/f' },
      ],
      { 34: 1, 44: 1, 59: 1 },
      'small',
    ),
  },
  {
    what: 'a look at a name in the root, which a server did not answer, is made again',
    scenario: scenario(
      { fails: 4, failsBy: 'EIO', followSymlinks: true, start: 'settled' },
      [{ type: 'rename', path: '/out/o', other: '/t/b/m' }],
      {},
      'links',
    ),
  },
  {
    what: 'what had no watch was polled until some moment before its root was lost, and is compared from then on when that is restored',
    scenario: scenario(
      { watches: 3, fails: 4, failsBy: 'ESTALE', msPerStep: 5, isPatient: true },
      [
        { type: 'write', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/b/d', other: '/t/b/n' },
      ],
      {},
      'small',
    ),
  },
  {
    what: 'a directory that could neither be read nor watched in a recovery is polled from the moment on at which events were lost',
    scenario: scenario(
      { lost: 3, watches: 3, fails: 5, failsBy: 'EIO', failsAfter: 11, followSymlinks: true },
      [
        { type: 'remove', path: '/t/a' },
        { type: 'append', path: '/t/b/d/h' },
      ],
      {},
      'links',
    ),
  },
  {
    what: 'a directory that moves out of one that could not be read in a recovery is to be read as well',
    scenario: scenario(
      { lost: 1, fails: 3, failsBy: 'ESTALE', failsAfter: 7, isAtomic: false, isPatient: true },
      [
        { type: 'exchange', path: '/t/b/d/h', other: '/out/o/p' },
        { type: 'rename', path: '/t/a', other: '/t/b/d/n' },
        { type: 'rename', path: '/t/b/g', other: '/t/b/d/n/m' },
        { type: 'rename', path: '/t/b/d', other: '/t/f' },
      ],
      { 9: 1, 11: 1 },
      'small',
    ),
  },
  {
    what: 'a file that moves out of a directory that could not be read in a recovery may have been written there',
    scenario: scenario(
      { lost: 1, fails: 1, failsBy: 'EIO', failsAfter: 8, isAtomic: false },
      [
        { type: 'write', path: '/t/a/f' },
        { type: 'write', path: '/t/b/f' },
        { type: 'rename', path: '/t/b/g', other: '/out/f' },
        { type: 'exchange', path: '/t/b', other: '/t/a/f' },
      ],
      { 9: 1 },
    ),
  },
  {
    what: 'an outer root is added while the inner one, which was exchanged, cannot be read',
    scenario: scenario(
      { fails: 2, failsAfter: 10, nesting: 'outer added' },
      [{ type: 'exchange', path: '/t/b', other: '/t/a' }],
      {},
      'small',
    ),
  },
  {
    what: 'an outer root is added which can watch the inner one, and not read it: its events are told once',
    scenario: scenario(
      { fails: 2, failsBy: 'ESTALE', failsAfter: 11, followSymlinks: true, nesting: 'outer added' },
      [{ type: 'write', path: '/t/b/m' }],
      {},
      'links',
    ),
  },
  {
    what: 'an inner root, which a server does not read during a recovery, goes on being told by the outer one alone',
    scenario: scenario(
      { lost: 2, fails: 6, failsBy: 'EIO', failsAfter: 7, nesting: 'outer first' },
      [
        { type: 'rename', path: '/t/b/g', other: '/t/n' },
        { type: 'exchange', path: '/t/b/d', other: '/t/n' },
      ],
      {},
      'small',
    ),
  },
  {
    what: 'an inner root that comes anew, and can be watched and not read, is told by the outer one alone',
    scenario: scenario(
      {
        queue: 64,
        fails: 6,
        failsBy: 'ESTALE',
        failsOneIn: 3,
        followSymlinks: true,
        nesting: 'outer first',
      },
      [
        { type: 'rename', path: '/t/l', other: '/t/d' },
        { type: 'exchange', path: '/t/b', other: '/out' },
        { type: 'create', path: '/t/b/o/n' },
        { type: 'swap', path: '/t/e', target: '/t/b/o/n' },
        { type: 'rename', path: '/out/d/h', other: '/t/b/f' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'a look that is under way when sync() begins, and fails, is made again by it',
    scenario: scenario(
      {
        fails: 3,
        failsBy: 'ESTALE',
        failsAfter: 1,
        followSymlinks: true,
        start: 'settled',
      },
      [
        { type: 'write', path: '/t/b/n' },
        { type: 'touch', path: '/out/o' },
        { type: 'write', path: '/t/a/f' },
        { type: 'exchange', path: '/t/b', other: '/out' },
        { type: 'mkdir', path: '/t/b/n' },
        { type: 'write', path: '/out/d/h' },
      ],
      { 1: 1, 3: 1, 7: 1, 17: 1, 20: 1 },
      'links',
    ),
  },
  {
    what: 'and one of a symlink, which nobody could look at before',
    scenario: scenario(
      { fails: 6, failsBy: 'EIO', followSymlinks: true, isAtomic: false },
      [
        { type: 'rename', path: '/t/b/d', other: '/t/f' },
        { type: 'symlink', path: '/t/a/d', target: '/t/e' },
        { type: 'write', path: '/t/b/d' },
        { type: 'write', path: '/t/m' },
        { type: 'append', path: '/t/b/g' },
      ],
      { 4: 1, 20: 2, 35: 5 },
      'links to files',
    ),
  },
  {
    what: 'the file of a link that could not be looked at was written before another reason to look came',
    scenario: scenario(
      {
        queue: 64,
        fails: 6,
        failsBy: 'EIO',
        failsAfter: 8,
        failsOneIn: 2,
        followSymlinks: true,
        isPatient: true,
      },
      [
        { type: 'rename', path: '/t/a/f', other: '/t/a/d' },
        { type: 'swap', path: '/t/k', target: '/t/a/d' },
        { type: 'rename', path: '/t/b/d/h', other: '/t/b/g' },
        { type: 'rename', path: '/out/o/p', other: '/t/a/g' },
        { type: 'remove', path: '/t/a' },
        { type: 'swap', path: '/t/l', target: '/t/b/d' },
        { type: 'write', path: '/out/x' },
        { type: 'swap', path: '/t/k', target: '/out/x' },
        { type: 'write', path: '/out/x' },
        { type: 'mkdir', path: '/t/b/d/m' },
        { type: 'rename', path: '/t/k', other: '/t/b/g' },
        { type: 'append', path: '/out/x' },
      ],
      { '11': 1, '35': 1 },
      'links',
    ),
  },
  {
    what: 'a directory that a rescan has found to have moved lay below one that could not be listed by the rescan before',
    scenario: scenario(
      { queue: 2, fails: 4, failsBy: 'EIO', failsAfter: 10, writers: 2, msPerStep: 5, isAtomic: false },
      [
        { type: 'chmod', path: '/t/b' },
        { type: 'write', path: '/t/f' },
        { type: 'append', path: '/t/b/d/h' },
        { type: 'touch', path: '/t/b/g' },
        { type: 'mkdir', path: '/t/d' },
        { type: 'rename', path: '/out/o/p', other: '/t/n' },
        { type: 'rename', path: '/t/b/d', other: '/t/m' },
      ],
      { '14': 1 },
      'small',
    ),
  },
]
