import type { Operation } from '../operation.ts'
import { type Found, scenario } from './found_scenario.ts'

/** A file is put by an exchange to where it is written, and other exchanges put it elsewhere before, by events that come behind the listing that shows it. */
const PUT_BACK: readonly Operation[] = [
  { type: 'exchange', path: '/t/a/f', other: '/out/x' },
  { type: 'exchange', path: '/t/b', other: '/t/l' },
  { type: 'exchange', path: '/t/b', other: '/t/a' },
  { type: 'exchange', path: '/t/b', other: '/t/l' },
  { type: 'exchange', path: '/t/b/g', other: '/t/l/f' },
  { type: 'write', path: '/t/l/f' },
]

/** Schedules with followed links to files. */
export const FOUND_FILE_LINKS: readonly Found[] = [
  {
    what: 'what replaces the file at the end of a link, behind an event of that file and while it is looked at, is told',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false },
      [
        { type: 'chmod', path: '/out/x' },
        { type: 'rename', path: '/out/o/p', other: '/out/x' },
      ],
      { 4: 1 },
      'links to files',
    ),
  },
  {
    what: 'what is written to the file at the end of a link while that is looked at, and whose event is lost, is told',
    scenario: scenario(
      { followSymlinks: true, queue: 2 },
      [
        { type: 'chmod', path: '/out/x' },
        { type: 'write', path: '/t/a/f' },
        { type: 'write', path: '/out/x' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'what is written to the file at the end of a link, and whose event is lost, is told though its mode is another too',
    scenario: scenario(
      { followSymlinks: true, queue: 2 },
      [
        { type: 'touch', path: '/out/x' },
        { type: 'write', path: '/t/a/f' },
        { type: 'write', path: '/out/x' },
        { type: 'chmod', path: '/out/x' },
      ],
      { 3: 1, 7: 1 },
      'links to files',
    ),
  },
  {
    what: 'a link that was renamed before anybody saw that it is one is told as written',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false, msPerStep: 5 },
      [
        { type: 'mkdir', path: '/t/b/f' },
        { type: 'swap', path: '/t/l', target: '/t/b/d/h' },
        { type: 'append', path: '/t/b/d/h' },
      ],
      { 6: 1 },
      'links',
    ),
  },
  {
    what: 'a link that is renamed while the file at its end is written takes along what is known of that',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false },
      [
        { type: 'write', path: '/out/x' },
        { type: 'rename', path: '/t/e', other: '/t/b/f' },
      ],
      { 2: 1, 5: 1 },
      'links to files',
    ),
  },
  {
    what: 'polled, a link to a file that leads to what it lies in now is told',
    scenario: scenario(
      { followSymlinks: true, source: 'poll' },
      [
        { type: 'symlink', path: '/t/b/f', target: '/t' },
        { type: 'rename', path: '/t/b/f', other: '/t/a/f' },
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'the events of a way and those of the file at its end come together, and both are told',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false, queue: 64 },
      [
        { type: 'write', path: '/out/x' },
        { type: 'exchange', path: '/t/b', other: '/out' },
        { type: 'exchange', path: '/t/b', other: '/out' },
      ],
      { 2: 1, 4: 1 },
      'links to files',
    ),
  },
  {
    what: 'a link that nobody has seen to be one takes the place of another, and goes on: what was written behind it meanwhile is told',
    scenario: scenario(
      { watches: 5, followSymlinks: true, msPerStep: 50, isAtomic: false },
      [
        { type: 'rename', path: '/t/b/g', other: '/out/n' },
        { type: 'rename', path: '/t/b/d', other: '/out/g' },
        { type: 'write', path: '/out/x' },
        { type: 'symlink', path: '/t/n', target: '/out/x' },
        { type: 'swap', path: '/t/l', target: '/out/x' },
        { type: 'append', path: '/out/x' },
        { type: 'rename', path: '/t/l', other: '/t/a/d' },
      ],
      { 10: 1, 25: 1 },
      'links to files',
    ),
  },
  {
    what: 'a link that has led round leads to a file that is older: polls tell that it is another',
    scenario: scenario(
      { source: 'poll', followSymlinks: true, start: 'amid', isAtomic: false },
      [
        { type: 'remove', path: '/t/b/d/h' },
        { type: 'exchange', path: '/t/k', other: '/t/b' },
        { type: 'swap', path: '/t/b', target: '/t' },
        { type: 'symlink', path: '/t/k/d/f', target: '/t/k' },
        { type: 'write', path: '/t/k/m' },
        { type: 'exchange', path: '/t/k/m', other: '/t/b' },
      ],
      { 18: 1 },
      'links',
    ),
  },
  {
    what: 'of two files that are renamed to one name, one over the other, the last is written before what they are in is watched: a listing has shown it',
    scenario: scenario(
      { queue: 16384, followSymlinks: true },
      [
        { type: 'rename', path: '/out/o/p', other: '/t/a/f' },
        { type: 'symlink', path: '/t/a/d', target: '/out' },
        { type: 'rename', path: '/t/e', other: '/t/e' },
        { type: 'exchange', path: '/t/b/d/h', other: '/t/l' },
        { type: 'rename', path: '/t/a/f', other: '/out/f' },
        { type: 'rename', path: '/t/l', other: '/out/f' },
        { type: 'write', path: '/out/f' },
      ],
      { 4: 1, 9: 2 },
      'links to files',
    ),
  },
  {
    what: 'a file that was exchanged with a link to another, renamed, written and exchanged with the link again',
    scenario: scenario(
      { queue: 16, followSymlinks: true, isAtomic: false },
      [
        { type: 'write', path: '/t/b/g' },
        { type: 'write', path: '/t/a/f' },
        { type: 'rename', path: '/t/a', other: '/out/g' },
        { type: 'create', path: '/t/f' },
        { type: 'rename', path: '/t/b/d/h', other: '/t/n' },
        { type: 'exchange', path: '/t/f', other: '/t/f' },
        { type: 'rename', path: '/t/b/g', other: '/t/g' },
        { type: 'exchange', path: '/t/b', other: '/out/x' },
        { type: 'write', path: '/t/b' },
        { type: 'create', path: '/t/d' },
        { type: 'rename', path: '/t/d', other: '/out/m' },
        { type: 'exchange', path: '/t/f', other: '/t/l' },
        { type: 'rename', path: '/t/l', other: '/t/n' },
        { type: 'append', path: '/t/n' },
        { type: 'exchange', path: '/t/f', other: '/t/n' },
      ],
      { 29: 1, 31: 1, 41: 2, 60: 1, 68: 1 },
      'links',
    ),
  },
  {
    what: 'what is written by a link that was renamed twice before anybody saw where it leads is told under its name',
    scenario: scenario(
      { followSymlinks: true, msPerStep: 5, isAtomic: false },
      [
        { type: 'swap', path: '/t/e', target: '/t/a/f' },
        { type: 'mkdir', path: '/t/b/d/m' },
        { type: 'rename', path: '/t/e', other: '/t/g' },
        { type: 'write', path: '/t/g' },
      ],
      { 9: 1 },
      'links to files',
    ),
  },
  {
    what: 'a write by a link is not told of the directory that another link at its name leads to by then',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false },
      [
        { type: 'rename', path: '/t/e', other: '/t/b/n' },
        { type: 'write', path: '/out/x' },
        { type: 'swap', path: '/t/b/e', target: '/out/o' },
        { type: 'exchange', path: '/t/b/e', other: '/t/b/n' },
      ],
      { 2: 1 },
      'links to files',
    ),
  },
  {
    what: 'a file that a listing had shown as written, and an event told as gone, is told as written where an older exchange puts it back',
    scenario: scenario(
      { queue: 64, followSymlinks: true, nesting: 'outer added' },
      PUT_BACK,
      {},
      'links to files',
    ),
  },
  {
    what: 'the same, though older events have told before that it was renamed there and back',
    scenario: scenario(
      { queue: 64, followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'rename', path: '/t/a/f', other: '/t/a/h' },
        { type: 'rename', path: '/t/a/h', other: '/t/a/f' },
        ...PUT_BACK,
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'the same, though older events have told before that it was exchanged',
    scenario: scenario(
      { queue: 64, followSymlinks: true, nesting: 'outer added' },
      [
        { type: 'create', path: '/t/a/h' },
        { type: 'exchange', path: '/t/a/h', other: '/t/a/f' },
        ...PUT_BACK,
      ],
      {},
      'links to files',
    ),
  },
  {
    what: 'a link that leads elsewhere when a name in it is looked at, and nowhere when that is listed, is a link still',
    scenario: scenario(
      { followSymlinks: true, isAtomic: false },
      [
        { type: 'exchange', path: '/t/k', other: '/t/b' },
        { type: 'remove', path: '/t/b' },
      ],
      { 6: 1, 41: 1 },
      'links to files',
    ),
  },
  {
    what: 'what was written to the file at the end of a link, whose event was lost, is told though the mode or a time of it has been told since, before anybody compared',
    scenario: scenario(
      { lost: 1, fails: 4, failsBy: 'EIO', failsOneIn: 3, followSymlinks: true, isAtomic: false },
      [
        { type: 'append', path: '/t/a/f' },
        { type: 'create', path: '/t/a/m' },
        { type: 'touch', path: '/t/a/f' },
      ],
      { 5: 1, 10: 1 },
      'links to files',
    ),
  },
]
