import { type Found, scenario } from './found_scenario.ts'

/** Schedules with events alone and an exchange. */
export const FOUND_EXCHANGES: readonly Found[] = [
  {
    what: 'what settle holds back goes with both halves of an exchange',
    scenario: scenario({ settle: 20 }, [
      { type: 'append', path: '/t/a/f' },
      { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
    ]),
  },
  {
    what: 'an exchange of two files whose halves come in two reads',
    scenario: scenario({ isAtomic: false }, [{ type: 'exchange', path: '/t/a/f', other: '/t/b/g' }], {
      3: 1,
    }),
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
  {
    what: 'a file that was exchanged, written under its new name, renamed and exchanged back, when the first exchange looked like a rename and back',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
        { type: 'append', path: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/n' },
        { type: 'exchange', path: '/t/a/f', other: '/t/n' },
      ],
      { 5: 1, 7: 1 },
    ),
  },
  {
    what: 'the same, written behind the rename',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/n' },
        { type: 'append', path: '/t/n' },
        { type: 'exchange', path: '/t/a/f', other: '/t/n' },
      ],
      { 5: 1, 7: 1 },
    ),
  },
  {
    what: 'a file that was exchanged, written and exchanged back, of which a look shows the last before its events are queued, when the first looked like a rename and back',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
        { type: 'append', path: '/t/b/g' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
      ],
      { 4: 1, 17: 2 },
    ),
  },
  {
    what: 'the same, renamed before it is exchanged back',
    scenario: scenario(
      { isAtomic: false },
      [
        { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
        { type: 'append', path: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/n' },
        { type: 'exchange', path: '/t/a/f', other: '/t/n' },
      ],
      { 8: 1, 9: 1, 15: 2 },
    ),
  },
  {
    what: 'a rename over a file and back is no exchange for a look that has shown the one at both names',
    scenario: scenario(
      { queue: 64, isAtomic: false },
      [
        { type: 'exchange', path: '/t/a/f', other: '/out/o' },
        { type: 'rename', path: '/t/a', other: '/t/b/d/g' },
        { type: 'write', path: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/b/d/m' },
        { type: 'write', path: '/t/b/d/m' },
        { type: 'chmod', path: '/t/b/d/h' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/b/d/g/f/p' },
        { type: 'touch', path: '/t/b/d/h' },
        { type: 'exchange', path: '/t/b/d/h', other: '/out/o' },
        { type: 'write', path: '/t/b/g' },
        { type: 'remove', path: '/t/b/d' },
        { type: 'write', path: '/t/b/g' },
        { type: 'write', path: '/t/b/g' },
        { type: 'rename', path: '/t/b/g', other: '/t/b/g' },
        { type: 'touch', path: '/t/b' },
        { type: 'rename', path: '/t/b', other: '/out/n' },
        { type: 'mkdir', path: '/t/d' },
        { type: 'exchange', path: '/t/d', other: '/out/x' },
        { type: 'write', path: '/t/n' },
        { type: 'append', path: '/t/d' },
        { type: 'rename', path: '/out/o', other: '/t/g' },
        { type: 'touch', path: '/t/n' },
        { type: 'rename', path: '/t/n', other: '/t/g' },
        { type: 'write', path: '/t/g' },
        { type: 'rename', path: '/t/g', other: '/t/n' },
      ],
      { 95: 5, 102: 1, 109: 1, 114: 2 },
    ),
  },
  {
    what: 'an exchange that is told as a rename over and back, of one that a look ahead of it has shown to be the other',
    scenario: scenario(
      { start: 'settled' },
      [
        { type: 'create', path: '/t/a/m' },
        { type: 'rename', path: '/t/a/m', other: '/t/a/n' },
        { type: 'write', path: '/t/b/g' },
        { type: 'exchange', path: '/t/a/n', other: '/t/b/g' },
      ],
      { 1: 1, 2: 1, 3: 1, 7: 1, 8: 1, 9: 1 },
    ),
  },
]
