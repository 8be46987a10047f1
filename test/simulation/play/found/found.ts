import { type Found, scenario } from './found_scenario.ts'

/** Schedules with events or with polls. Those with followed links are in found_links.ts. */
export const FOUND: readonly Found[] = [
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
    what: 'a directory of which nothing is known, and that a look comes by, is found though what it lies in moves before it is listed',
    scenario: scenario(
      { syncAfter: 1, isAtomic: false },
      [
        { type: 'write', path: '/t/a/f' },
        { type: 'exchange', path: '/t/a', other: '/t/b/d' },
        { type: 'rename', path: '/t/b', other: '/t/n' },
      ],
      { 8: 1, 23: 1, 55: 1 },
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
    what: 'a file renamed, then written: the write is told where an overflow has swallowed it',
    scenario: scenario({ queue: 2 }, [
      { type: 'rename', path: '/t/a/f', other: '/t/n' },
      { type: 'append', path: '/t/n' },
    ]),
  },
  {
    what: 'a file moved in over one that was renamed there just now: the kernel merges the two IN_MOVED_TO',
    scenario: scenario({}, [
      { type: 'rename', path: '/t/b/g', other: '/t/a/f' },
      { type: 'rename', path: '/out/x', other: '/t/a/f' },
    ]),
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
    what: 'what was written in a directory that was polled for want of a watch is told when it gets one',
    scenario: scenario({ watches: 3 }, [
      { type: 'write', path: '/t/b/d/h' },
      { type: 'mkdir', path: '/t/n' },
      { type: 'rename', path: '/t/b', other: '/t/n/f' },
    ]),
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
  {
    what: 'what was held back for a directory that has left, and is about what a listing has found elsewhere meanwhile, is told',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'remove', path: '/t/a/f' },
        { type: 'write', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/b', other: '/out/m' },
        { type: 'rename', path: '/out/m/d', other: '/t/a' },
        { type: 'write', path: '/t/a/h' },
      ],
      { 13: 1 },
    ),
  },
  {
    what: 'out of watches, what is written in a directory between the poll that finds it and the listing that finds no watch is told',
    scenario: scenario(
      { watches: 3, msPerStep: 50, isAtomic: false },
      [
        { type: 'create', path: '/t/a/f' },
        { type: 'rename', path: '/out/o', other: '/t/b/d/f' },
        { type: 'write', path: '/t/b/d/f/p' },
      ],
      { 6: 2, 21: 5, 22: 5 },
    ),
  },
  {
    what: 'a root that goes between the rescan and the look at its watches is lost, though the next has its inode number',
    scenario: scenario(
      { reusesInos: true },
      [
        { type: 'remove', path: '/t/a' },
        { type: 'remove', path: '/t/b' },
        { type: 'remove', path: '/t' },
        { type: 'mkdir', path: '/t' },
        { type: 'write', path: '/t/g' },
      ],
      { 2: 1, 11: 1 },
    ),
  },
  {
    what: 'a root that is removed under the rescan is not recovered: what comes back in the next was written before',
    scenario: scenario(
      { lost: 1, msPerStep: 20 },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'rename', path: '/t/b', other: '/out/b' },
        { type: 'remove', path: '/t' },
        { type: 'mkdir', path: '/t' },
        { type: 'rename', path: '/out/b', other: '/t/b' },
      ],
      { 1: 1, 7: 1 },
    ),
  },
  {
    what: 'a file put over one that was told and never seen is told, though a listing was quicker than its event',
    scenario: scenario(
      {},
      [
        { type: 'write', path: '/t/b/d/n' },
        { type: 'rename', path: '/t/b', other: '/out/f' },
        { type: 'rename', path: '/out/f', other: '/t/g' },
        { type: 'append', path: '/out/x' },
        { type: 'rename', path: '/out/x', other: '/t/g/d/n' },
      ],
      { 3: 1, 12: 1 },
    ),
  },
  {
    what: 'a directory is found where it has gone to by a listing, and what was written in it on its way is told before the file is renamed',
    scenario: scenario(
      {},
      [
        { type: 'mkdir', path: '/t/n' },
        { type: 'rename', path: '/t/b/d', other: '/out/m' },
        { type: 'rename', path: '/out/m', other: '/t/n/m' },
        { type: 'write', path: '/t/n/m/h' },
        { type: 'rename', path: '/t/n/m/h', other: '/t/n/m/m' },
      ],
      { 4: 1 },
    ),
  },
  {
    what: 'a poll of a directory that has a watch by now is older than what was listed with that, and tells nothing of it',
    scenario: scenario(
      { lost: 2, watches: 3, msPerStep: 50 },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'remove', path: '/t/a' },
        { type: 'write', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/b/d/h', other: '/t/b/d/h' },
        { type: 'mkdir', path: '/t/b/d/d' },
      ],
      { 4: 1, 10: 5, 11: 6, 15: 1, 17: 1 },
    ),
  },
]
