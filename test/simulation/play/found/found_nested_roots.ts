import { type Found, scenario } from './found_scenario.ts'

/** Schedules with a root in another. */
export const FOUND_NESTED_ROOTS: readonly Found[] = [
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
    what: 'what was still to be listed of a root that is lost is not told before it is restored',
    scenario: scenario(
      { nesting: 'outer removed', isAtomic: false },
      [
        { type: 'exchange', path: '/t/b', other: '/out' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
        { type: 'create', path: '/t/b/f' },
        { type: 'create', path: '/t/b/m' },
      ],
      { 2: 1, 16: 1 },
    ),
  },
  {
    what: 'a root that was a directory is not restored by itself where the one above it has a file still',
    scenario: scenario(
      { source: 'poll', nesting: 'outer added', isAtomic: false },
      [
        { type: 'append', path: '/t/a/f' },
        { type: 'exchange', path: '/t/a/f', other: '/t/b' },
        { type: 'exchange', path: '/t/b', other: '/t/a' },
      ],
      { 9: 1 },
    ),
  },
  {
    what: 'what has left by two paths, of which one has had its place taken, is not given up at the other without a look',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [{ type: 'exchange', path: '/t/k', other: '/t/b/d/h' }],
      { 18: 5 },
      'links',
    ),
  },
  {
    what: 'likewise what a link leads to, with a root that is added meanwhile',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added', isAtomic: false },
      [
        { type: 'rename', path: '/t/k', other: '/t/a/g' },
        { type: 'remove', path: '/t/a/f' },
        { type: 'rename', path: '/t/b', other: '/t/n' },
        { type: 'rename', path: '/t/n', other: '/t/b' },
        { type: 'remove', path: '/t/b' },
      ],
      { 20: 2, 39: 1 },
      'links',
    ),
  },
  {
    what: 'what was told of a root that is a link when a root above it is added is gone',
    scenario: scenario(
      { nesting: 'outer added' },
      [{ type: 'exchange', path: '/t/b', other: '/t/l' }],
      {},
      'links',
    ),
  },
  {
    what: 'a name that is looked at in a root that is another by now says nothing of that root',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added', isAtomic: false },
      [
        { type: 'rename', path: '/t/k', other: '/t/b/g' },
        { type: 'write', path: '/t/n' },
        { type: 'exchange', path: '/t/a', other: '/t/b' },
      ],
      { 8: 1, 20: 1 },
      'links',
    ),
  },
  {
    what: 'a rename over what a listing has shown is told with what was written before that',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'rename', path: '/t/b/g', other: '/t/a/g' },
        { type: 'write', path: '/t/a/g' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'a link that has changed places with a file while it was listed has not left',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'exchange', path: '/t/k', other: '/t/b/g' },
        { type: 'rename', path: '/t/b', other: '/t/n' },
      ],
      { 7: 2, 11: 2 },
      'links',
    ),
  },
  {
    what: 'what is written to the file at the end of a link before that is looked at, in a root that is told as new, is told',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'mkdir', path: '/t/b/d/n' },
        { type: 'create', path: '/t/n' },
        { type: 'symlink', path: '/t/b/d/m', target: '/t/e' },
        { type: 'write', path: '/t/b/g' },
        { type: 'write', path: '/out/x' },
      ],
      { 4: 1, 25: 4, 51: 5 },
      'links to files',
    ),
  },
  {
    what: 'a directory that has moved beneath a followed link, and whose root is another then, is told in both places',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'rename', path: '/t/b/d', other: '/t/a/m' },
        { type: 'exchange', path: '/t/b', other: '/t/a' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'an exchange that a listing has shown already, and what was written since: before the directory was watched for that',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'exchange', path: '/t/b/g', other: '/t/a/f' },
        { type: 'write', path: '/t/a/f' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'what a root has told behind a link that the other follows, and that leads nowhere by the time that the other comes to it, is gone',
    scenario: scenario(
      { lost: 3, followSymlinks: true, nesting: 'outer added', isAtomic: false },
      [
        { type: 'exchange', path: '/t/b', other: '/t/l' },
        { type: 'symlink', path: '/t/l/m', target: '/t' },
        { type: 'rename', path: '/t/b', other: '/t/n' },
        { type: 'swap', path: '/t/b', target: '/out/o' },
        { type: 'rename', path: '/out/o', other: '/t/l/f' },
      ],
      { 2: 1, 6: 1, 13: 1, 24: 1 },
      'links',
    ),
  },
  {
    what: 'what a root has told behind a link is gone before the link is: where both roots were lost',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer first', isAtomic: false },
      [
        { type: 'exchange', path: '/t/b', other: '/t/k' },
        { type: 'swap', path: '/t/b', target: '/out/o' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
      ],
      { 2: 1 },
      'links',
    ),
  },
  {
    what: 'likewise by polls, where the link is swapped',
    scenario: scenario(
      { source: 'poll', followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'exchange', path: '/t/b', other: '/t/l' },
        { type: 'rename', path: '/out/x', other: '/t/a/m' },
        { type: 'create', path: '/t/a/d' },
        { type: 'create', path: '/t/l/d/m' },
        { type: 'swap', path: '/t/b', target: '/out/o' },
      ],
      { 5: 1 },
      'links',
    ),
  },
  {
    what: 'likewise after an overflow, where the link gives way to a directory',
    scenario: scenario(
      { queue: 64, lost: 1, followSymlinks: true, nesting: 'outer first', isAtomic: false },
      [
        { type: 'rename', path: '/t/a/f', other: '/out/f' },
        { type: 'write', path: '/out/x' },
        { type: 'exchange', path: '/t/a', other: '/t/b/d/h' },
        { type: 'create', path: '/t/b/d/h/g' },
        { type: 'exchange', path: '/t/b', other: '/t/l' },
        { type: 'write', path: '/out/o/p' },
        { type: 'exchange', path: '/t/b', other: '/out' },
      ],
      { 8: 1, 13: 2, 14: 1, 21: 1, 24: 1, 25: 1, 35: 1, 61: 1, 70: 1, 100: 1 },
      'links to files',
    ),
  },
  {
    what: 'a link becomes one to a directory while a root behind it that is lost is looked for: both tell, and what the inner one has told is told to be gone between',
    scenario: scenario(
      { lost: 1, followSymlinks: true, nesting: 'inner removed' },
      [
        { type: 'exchange', path: '/t/b', other: '/t/l' },
        { type: 'write', path: '/out/x' },
        { type: 'create', path: '/t/a/f' },
        { type: 'exchange', path: '/t/b', other: '/t/k' },
        { type: 'write', path: '/t/a/n' },
      ],
      { 2: 1, 61: 1 },
      'links',
    ),
  },
  {
    what: 'a root behind a link waits for the one that follows it, which is lost as well',
    scenario: scenario(
      { queue: 16, followSymlinks: true, nesting: 'inner first' },
      [
        { type: 'remove', path: '/t/b' },
        { type: 'swap', path: '/t/b', target: 'a' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
      ],
      {},
      'links',
    ),
  },
  {
    what: 'a link is swapped for one that leads back to where it lies, between the look that says where it leads and the walk',
    scenario: scenario(
      { queue: 2, followSymlinks: true, ignored: 'm', nesting: 'outer removed', isAtomic: false },
      [
        { type: 'mkdir', path: '/t/b/d/m' },
        { type: 'rename', path: '/t/b/d/h', other: '/t/b/d/m/m' },
        { type: 'write', path: '/out/x' },
        { type: 'exchange', path: '/t/k', other: '/t/b/d' },
        { type: 'swap', path: '/t/b/d', target: '/t' },
      ],
      { 7: 1, 20: 1, 44: 1 },
      'links',
    ),
  },
  {
    what: 'a link goes between the walk of what is behind it and the look whether it is still the same: what was seen is not told as below it',
    scenario: scenario(
      { source: 'poll', followSymlinks: true, nesting: 'inner first', msPerStep: 5 },
      [
        { type: 'rename', path: '/t/b', other: '/out/b' },
        { type: 'symlink', path: '/t/b', target: 'none' },
        { type: 'swap', path: '/t/b', target: 'a' },
        { type: 'remove', path: '/t/b' },
      ],
      { 2: 1, 3: 1, 81: 1, 105: 1, 108: 1 },
      'links',
    ),
  },
  {
    what: 'a file is renamed over one that has come from elsewhere and is written, where only the way of a link is watched: a listing shows it before the events do',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'rename', path: '/out/x', other: '/t/a/f' },
        { type: 'rename', path: '/t/b/g', other: '/t/a/f' },
        { type: 'write', path: '/t/a/f' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'an outer root is removed that was lost with the inner one, right after it had told that another directory took the place of that: what is in this one is told as gone',
    scenario: scenario(
      { nesting: 'outer removed' },
      [
        { type: 'exchange', path: '/t/b', other: '/t/a' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
        { type: 'remove', path: '/t/b' },
        { type: 'mkdir', path: '/t/b' },
      ],
      { 2: 1, 3: 1 },
    ),
  },
  {
    what: 'what an outer root has told behind the link that took the place of the inner one is told as gone, though it was removed while both were lost',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer removed' },
      [
        { type: 'exchange', path: '/t/b', other: '/t/k' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
        { type: 'remove', path: '/t/b' },
        { type: 'mkdir', path: '/t/b' },
      ],
      { 2: 1 },
      'links',
    ),
  },
  {
    what: 'likewise what is behind that link still: the inner one told as new what the outer one had told',
    scenario: scenario(
      { followSymlinks: true, nesting: 'outer removed' },
      [
        { type: 'exchange', path: '/t/b', other: '/t/k' },
        { type: 'rename', path: '/t', other: '/r' },
        { type: 'rename', path: '/r', other: '/t' },
        { type: 'write', path: '/t/a/f' },
        { type: 'write', path: '/t/a/f' },
      ],
      { 2: 1 },
      'links',
    ),
  },
  {
    what: 'a way that lacked a watch, and that ends before where that was to be, is looked at once more: nobody has told of what became of it',
    scenario: scenario(
      { watches: 4, followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'exchange', path: '/t/a', other: '/t/b/d/h' },
        { type: 'chmod', path: '/t/b/d/h/f' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'what cannot be read when the outer root is removed was told, and is compared when it can be read',
    scenario: scenario(
      {
        fails: 1,
        failsBy: 'EIO',
        failsAfter: 4,
        nesting: 'outer removed',
        namesPerRead: 1,
        isAtomic: false,
      },
      [
        { type: 'exchange', path: '/t/b', other: '/out' },
        { type: 'write', path: '/t/n' },
        { type: 'rename', path: '/t/n', other: '/out/f' },
      ],
      { 2: 1, 11: 1 },
    ),
  },
]
