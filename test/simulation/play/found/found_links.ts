import { type Found, scenario } from './found_scenario.ts'

/** Schedules with followed links. */
export const FOUND_LINKS: readonly Found[] = [
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
    what: 'what a link leads to that was found in a directory is in that, and not in the one that had the path before',
    scenario: scenario(
      { queue: 4, followSymlinks: true },
      [
        { type: 'rename', path: '/t/k', other: '/t/b/g' },
        { type: 'remove', path: '/t/a' },
        { type: 'exchange', path: '/t/l', other: '/t/b' },
      ],
      { 2: 1, 9: 1 },
      'links',
    ),
  },
  {
    what: 'a new link whose end was gone when the scan came to it is looked at once more',
    scenario: scenario(
      { lost: 2, followSymlinks: true, isAtomic: false },
      [
        { type: 'rename', path: '/t/l', other: '/out/m' },
        { type: 'rename', path: '/t/k', other: '/t/b/d/m' },
        { type: 'rename', path: '/t/a/f', other: '/t/d' },
        { type: 'exchange', path: '/t/d', other: '/t/b/d' },
      ],
      { 6: 1, 14: 5, 36: 1 },
      'links',
    ),
  },
  {
    what: 'a followed link that changes places with a file in the directory to which it leads is a link',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false },
      [
        { type: 'swap', path: '/t/k', target: '/t/b/d/h' },
        { type: 'exchange', path: '/t/l', other: '/t/k' },
        { type: 'swap', path: '/t/k', target: '/out/o' },
        { type: 'chmod', path: '/t/b/d' },
        { type: 'swap', path: '/t/l', target: '/t/a' },
        { type: 'exchange', path: '/t/a/f', other: '/t/l' },
      ],
      { 26: 1 },
      'links',
    ),
  },
  {
    what: 'what an exchange has put back is a link, and followed, too',
    scenario: scenario(
      { queue: 16384, followSymlinks: true, ignored: 'm', msPerStep: 5, isAtomic: false },
      [
        { type: 'rename', path: '/t/k', other: '/t/b/d/f' },
        { type: 'write', path: '/t/a/f' },
        { type: 'rename', path: '/t/b', other: '/out/g' },
        { type: 'exchange', path: '/t/a/f', other: '/out/g/d/f' },
      ],
      { 2: 5, 8: 1, 9: 1, 11: 1, 13: 1, 20: 1, 22: 1, 27: 1, 29: 1, 38: 1 },
      'links',
    ),
  },
  {
    what: 'a followed link that is moved into the directory to which it leads is a link',
    scenario: scenario(
      { queue: 16384, followSymlinks: true, msPerStep: 5 },
      [
        { type: 'create', path: '/t/g' },
        { type: 'rename', path: '/t/l', other: '/t/b/g' },
        { type: 'create', path: '/t/a/f' },
        { type: 'symlink', path: '/t/a/d', target: '/t/b/d' },
        { type: 'create', path: '/t/a/n' },
        { type: 'rename', path: '/t/a/d', other: '/t/b/d/d' },
      ],
      { 5: 2 },
      'links',
    ),
  },
  {
    what: 'with ignored names, a directory that changes places with a followed link is told by the poll that finds it',
    scenario: scenario(
      { source: 'poll', followSymlinks: true, ignored: 'm' },
      [{ type: 'exchange', path: '/t/l', other: '/out/o' }],
      {},
      'links',
    ),
  },
  {
    what: 'with ignored names, nor is one overlooked that was in the tree',
    scenario: scenario(
      { source: 'poll', followSymlinks: true, ignored: 'm' },
      [
        { type: 'exchange', path: '/t/b', other: '/t/k' },
        { type: 'exchange', path: '/t/b', other: '/t/a/f' },
      ],
      {},
      'links',
    ),
  },
  {
    what: 'a file that an exchange took from beneath a followed link, written where it was then, and back',
    scenario: scenario(
      { followSymlinks: true, queue: 16 },
      [
        { type: 'exchange', path: '/t/b/d/h', other: '/t/l' },
        { type: 'write', path: '/t/l' },
        { type: 'rename', path: '/out/x', other: '/t/a/g' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/l' },
      ],
      { 12: 1 },
      'links',
    ),
  },
  {
    what: 'a link takes the place of another that leads to the same directory, exchanged from where nothing was watched yet',
    scenario: scenario(
      { followSymlinks: true },
      [
        { type: 'chmod', path: '/t/b' },
        { type: 'remove', path: '/t/a' },
        { type: 'write', path: '/t/b/g' },
        { type: 'mkdir', path: '/t/b/f' },
        { type: 'symlink', path: '/t/b/f/n', target: '/t/b' },
        { type: 'exchange', path: '/t/b/f/n', other: '/t/l' },
      ],
      { 5: 1, 16: 1, 19: 2 },
      'links',
    ),
  },
  {
    what: 'a file written outside and put over one that was told and never seen, where it lies beneath a followed link',
    scenario: scenario(
      { watches: 5, followSymlinks: true, isAtomic: false },
      [
        { type: 'rename', path: '/t/k', other: '/out/f' },
        { type: 'rename', path: '/t/a', other: '/out/m' },
        { type: 'write', path: '/t/b/d/h' },
        { type: 'append', path: '/out/x' },
        { type: 'append', path: '/out/o/p' },
        { type: 'rename', path: '/out/f', other: '/t/b/d/d' },
        { type: 'write', path: '/t/b/d/h' },
        { type: 'exchange', path: '/t/b/d/d', other: '/out/o/p' },
        { type: 'rename', path: '/t/b', other: '/out/f' },
        { type: 'write', path: '/out/f/d/h' },
        { type: 'rename', path: '/out/f', other: '/t/g' },
        { type: 'rename', path: '/t/g/d/h', other: '/t/g/d/d' },
      ],
      { 3: 1, 11: 2, 27: 1, 34: 1, 35: 1, 63: 1 },
      'links',
    ),
  },
  {
    what: 'what a link leads to is made again between the rescan and the look at its watches, with the same inode numbers',
    scenario: scenario(
      { followSymlinks: true, reusesInos: true, lost: 1 },
      [
        { type: 'append', path: '/t/a/f' },
        { type: 'remove', path: '/out/o' },
        { type: 'mkdir', path: '/out/o' },
        { type: 'write', path: '/out/o/p' },
      ],
      { 1: 1, 46: 1 },
      'links',
    ),
  },
  {
    what: 'what a link leads to that lies in a directory, exchanged for a link to it, that had to be told as new',
    scenario: scenario(
      { queue: 2, watches: 5, followSymlinks: true },
      [
        { type: 'write', path: '/out/o/p' },
        { type: 'write', path: '/t/b/g' },
        { type: 'symlink', path: '/t/a/m', target: '/out' },
        { type: 'exchange', path: '/t/a', other: '/t/k' },
      ],
      { 2: 1, 16: 2 },
      'links to files',
    ),
  },
  {
    what: 'a file behind a link that led elsewhere while it was listed after an overflow, and leads back',
    scenario: scenario(
      { lost: 3, followSymlinks: true },
      [
        { type: 'exchange', path: '/t/b', other: '/t/a' },
        { type: 'write', path: '/t/b/f' },
        { type: 'write', path: '/t/a/g' },
        { type: 'exchange', path: '/t/b~', other: '/t/k' },
        { type: 'exchange', path: '/t/b', other: '/t/a' },
      ],
      { 4: 1, 39: 1 },
      'links',
    ),
  },
  {
    what: 'a file in what a link leads to, which was away while it was listed after an overflow, and is back',
    scenario: scenario(
      { lost: 1, followSymlinks: true },
      [
        { type: 'write', path: '/out/o/p' },
        { type: 'rename', path: '/out/o', other: '/out/q' },
        { type: 'rename', path: '/out/q', other: '/out/o' },
      ],
      { 1: 1, 29: 1, 30: 1, 34: 1 },
      'links',
    ),
  },
]
