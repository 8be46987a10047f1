import { type Found, scenario } from './found_scenario.ts'

/** Of events, or of polls; without followed links: those are in found_links.ts. */
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
    what: 'a watched directory that is moved into one polled for want of a watch is told',
    scenario: scenario({ watches: 3 }, [{ type: 'rename', path: '/t/a', other: '/t/b/d/n' }]),
  },
  {
    what: 'a directory made in one polled for want of a watch is told',
    scenario: scenario({ watches: 3 }, [{ type: 'mkdir', path: '/t/b/d/n' }]),
  },
  {
    what: 'what settle holds back goes with both halves of an exchange',
    scenario: scenario({ settle: 20 }, [
      { type: 'append', path: '/t/a/f' },
      { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
    ]),
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
    what: 'a file moved in over one that was renamed there just now: the kernel merges the two IN_MOVED_TO',
    scenario: scenario({}, [
      { type: 'rename', path: '/t/b/g', other: '/t/a/f' },
      { type: 'rename', path: '/out/x', other: '/t/a/f' },
    ]),
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
    what: 'what was left out of a rescan as known, and had to go with what it was in, is listed once more',
    scenario: scenario(
      { lost: 3 },
      [
        { type: 'exchange', path: '/t/b', other: '/out/o' },
        { type: 'rename', path: '/out/o', other: '/t/b/d' },
      ],
      [],
    ),
  },
  {
    what: 'likewise after an exchange of two directories, one of which goes into the other',
    scenario: scenario(
      { queue: 2 },
      [
        { type: 'exchange', path: '/t/b', other: '/t/a' },
        { type: 'rename', path: '/t/a', other: '/t/b/g' },
      ],
      [],
    ),
  },
  {
    what: 'an exchange of a file and a directory, of which a look has shown one half before its events were read',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'mkdir', path: '/t/b/n' },
        { type: 'create', path: '/t/a/f' },
        { type: 'mkdir', path: '/t/m' },
        { type: 'remove', path: '/t/m' },
        { type: 'write', path: '/t/b/f' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/b/n' },
      ],
      { 15: 2 },
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
    what: 'a root that was not there when a recovery listed it is lost, and what was written before is told when it is restored',
    scenario: scenario(
      { lost: 3, msPerStep: 5, isAtomic: false },
      [
        { type: 'exchange', path: '/t/a', other: '/t/a' },
        { type: 'rename', path: '/out/o/p', other: '/t/b/g' },
        { type: 'write', path: '/t/a/f' },
        { type: 'rename', path: '/t/b', other: '/out/m' },
        { type: 'create', path: '/t/a/n' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
      ],
      { 10: 1, 13: 1, 14: 1 },
    ),
  },
  {
    what: 'a root that was another directory when a recovery listed it is not believed to be that',
    scenario: scenario(
      { queue: 16384, lost: 1 },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'exchange', path: '/t/b/g', other: '/t/a' },
        { type: 'chmod', path: '/t/a' },
        { type: 'rename', path: '/t', other: '/s' },
        { type: 'mkdir', path: '/t' },
        { type: 'rename', path: '/s', other: '/t' },
      ],
      { 1: 1, 6: 1, 10: 1, 13: 1 },
    ),
  },
  {
    what: 'what the watch that a look has added tells before the look is taken in is told',
    scenario: scenario(
      { watches: 4, msPerStep: 50 },
      [
        { type: 'chmod', path: '/t/a' },
        { type: 'exchange', path: '/t/b', other: '/out/o' },
        { type: 'rename', path: '/t/b/p', other: '/t/b/m' },
      ],
      { 1: 5, 4: 1, 8: 2, 22: 1 },
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
    what: 'what is written between an exchange and the same again is told, though that looks like a rename over and back',
    scenario: scenario(
      {},
      [
        { type: 'exchange', path: '/t/b/d/h', other: '/t/a/f' },
        { type: 'write', path: '/t/a/f' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/a/f' },
      ],
      { 1: 1, 2: 1 },
    ),
  },
  {
    what: 'a file that was renamed into a directory on its way is written after a listing has shown it there, and before the rename is told',
    scenario: scenario(
      { queue: 64 },
      [
        { type: 'append', path: '/t/b/d/h' },
        { type: 'rename', path: '/t/b', other: '/out/m' },
        { type: 'exchange', path: '/t/a/f', other: '/t/a/f' },
        { type: 'append', path: '/t/a/f' },
        { type: 'rename', path: '/t/a', other: '/t/d' },
        { type: 'rename', path: '/t/d', other: '/t/d' },
        { type: 'write', path: '/t/g' },
        { type: 'rename', path: '/t/g', other: '/t/d/d' },
        { type: 'write', path: '/t/n' },
        { type: 'mkdir', path: '/t/m' },
        { type: 'rename', path: '/t/m', other: '/out/f' },
        { type: 'write', path: '/t/n' },
        { type: 'rename', path: '/out/m', other: '/t/m' },
        { type: 'write', path: '/t/m/d/n' },
        { type: 'rename', path: '/t/d/d', other: '/t/d/m' },
        { type: 'rename', path: '/t/d/m', other: '/t/m/d/f' },
        { type: 'rename', path: '/t/n', other: '/out/d' },
        { type: 'mkdir', path: '/t/m/n' },
        { type: 'append', path: '/t/m/d/f' },
      ],
      { 6: 1, 7: 1, 10: 1, 11: 1, 14: 5, 44: 1 },
    ),
  },
  {
    what: 'a file is written under a name that is in doubt, since an exchange that a listing has shown was told once more, and is renamed before anybody looks',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'touch', path: '/t/a/f' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b' },
        { type: 'write', path: '/t/a/g' },
        { type: 'write', path: '/t/a/g' },
        { type: 'write', path: '/t/b' },
        { type: 'create', path: '/t/a/n' },
        { type: 'rename', path: '/t/b', other: '/t/a/g' },
        { type: 'write', path: '/t/a/g' },
        { type: 'rename', path: '/t/a/n', other: '/t/a/n' },
        { type: 'rename', path: '/t/a/f', other: '/t/a/f' },
        { type: 'write', path: '/t/a/n' },
        { type: 'touch', path: '/t/a/n' },
        { type: 'rename', path: '/t/a', other: '/out/g' },
        { type: 'rename', path: '/out/g/g', other: '/t/g' },
        { type: 'write', path: '/t/d' },
        { type: 'exchange', path: '/t/d', other: '/t/g' },
        { type: 'exchange', path: '/t/n', other: '/t/g' },
        { type: 'rename', path: '/t/n', other: '/t/g' },
        { type: 'write', path: '/t/g' },
        { type: 'rename', path: '/t/g', other: '/t/d' },
        { type: 'rename', path: '/t/d', other: '/t/g' },
      ],
      { 2: 1, 5: 1, 11: 1, 71: 1, 92: 1, 100: 1 },
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
    what: 'a file that was told and never seen is exchanged for one that an exchange with what lies outside has brought, which was told to be gone again: it is told as written',
    scenario: scenario(
      { queue: 64, ignored: 'm' },
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
]
