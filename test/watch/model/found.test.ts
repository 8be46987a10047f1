import { expect, test } from 'vitest'
import { rounds } from '../../support/long.ts'
import { play } from './play.ts'
import type { Settings } from './settings.ts'

// Findings of the model test, made small. All operations are done at once, so that the watcher sees them in
// one batch: these went wrong then, though not always.

const TIMES = rounds(process.env.TIMES, { quick: 3, long: 10 })

/** The operations of tree_writer.c. */
const cases: Array<[what: string, operations: string[][], settings?: Partial<Settings>]> = [
  [
    'an exchange of files, and one of them renamed over the other',
    [
      ['exchange', 'b', 'é'],
      ['rename', 'b', 'é'],
    ],
  ],
  [
    'an exchange of files in two directories, and one of them renamed over the other',
    [
      ['exchange', 'c/b', 'x y/é'],
      ['rename', 'c/b', 'x y/é'],
    ],
  ],
  [
    'an exchange of directories, then of files below them',
    [
      ['exchange', '-rf', 'x y'],
      ['exchange', '-rf/x y/b', '-rf/é'],
    ],
  ],
  [
    'an exchange of directories, then of those above them',
    [
      ['exchange', 'x y/-rf', 'c/-rf'],
      ['exchange', 'c', 'x y/c'],
    ],
  ],
  [
    'an exchange of a directory that has been filled',
    [
      ['rename', '-rf/a', '-rf/é'],
      ['chain', 'x y/c/-rf'],
      ['pause', '3456'],
      ['chain', '-rf'],
      ['exchange', 'x y/c/-rf', '-rf'],
    ],
  ],
  [
    'an exchange of directories, and nothing after it',
    [
      ['symlink', 'dangling', 'é/x y/-rf'],
      ['chmod', '0711', '-rf/a'],
      ['save', 'x y/é'],
      ['exchange', 'c', '-rf'],
      ['mkfifo', 'b'],
      ['rmdir', '-rf'],
    ],
  ],
  [
    'a directory is exchanged with a link from outside, and that with another directory',
    [
      ['trade', 'x y', '-rf'],
      ['exchange', '-rf', 'c'],
    ],
  ],
  [
    'the same, deeper',
    [
      ['trade', 'x y/-rf', 'c/c'],
      ['exchange', '-rf/x y', 'c'],
    ],
  ],
  [
    'a file is exchanged with a directory, which is renamed',
    [
      ['chain', 'é/-rf'],
      ['rename', 'c/b', 'a/é'],
      ['unlink', 'a'],
      ['mkdir', 'a'],
      ['exchange', 'a', 'c/x y/b'],
      ['in', 'x y'],
      ['rename', 'a', 'x y'],
    ],
  ],
  [
    'a new directory is renamed before it is listed, and another takes its name',
    [
      ['unlink', 'b'],
      ['out', 'c'],
      ['mkdir', 'c/-rf'],
      ['rename', 'c', 'b'],
      ['rename', '-rf/b', 'c/-rf/x y'],
    ],
  ],
  [
    'a tree that was moved in takes up another that was made anew',
    [
      ['in', 'x y/x y/-rf'],
      ['rewrite', '-rf/-rf/-rf/-rf/é'],
      ['out', '-rf'],
      ['symlink', '-rf/c', '-rf/-rf/x y/x y'],
      ['rename', '-rf', 'x y/x y/-rf/x y'],
      ['create', '-rf/é'],
    ],
  ],
  [
    'what left a directory is found there again, and the directory is renamed to one that is new',
    [
      ['out', '-rf/c'],
      ['symlink', 'c/a', 'x y/é'],
      ['out', 'x y'],
      ['create', 'x y/b'],
      ['remove', '-rf/-rf'],
      ['in', '-rf/c/-rf'],
      ['rename', '-rf', 'x y/x y/x y/-rf/é'],
    ],
  ],
  [
    'a new directory is renamed, and its path is made again',
    [
      ['rename', 'x y', '-rf/x y/-rf/c'],
      ['rename', 'x y/-rf/-rf/-rf/a', 'x y/-rf/a'],
      ['rename', '-rf/-rf/-rf', 'a/x y/c'],
      ['rename', 'x y', 'c/-rf/-rf'],
      ['chain', 'x y/c/c/x y'],
      ['save', '-rf/c/c/a'],
    ],
  ],
  [
    'a directory with a new one in it is renamed, and both paths are made again',
    [
      ['unlink', 'x y/é'],
      ['link', '-rf/a', '-rf/c/-rf/x y/b'],
      ['mark'],
      ['rename', '-rf', 'x y/é'],
      ['mkdir', '-rf/c/-rf/-rf'],
    ],
  ],
  [
    'a directory is emptied, filled and renamed, and its path is made again',
    [
      ['append', 'é'],
      ['unlink', 'b'],
      ['mkfifo', '-rf/b'],
      ['rename', 'c/c', 'x y/-rf/x y'],
      ['unlink', '-rf/-rf/b'],
      ['remove', 'x y'],
      ['chmod', '0750', 'é'],
      ['rewrite', 'x y/-rf/b'],
      ['late', '1837', 'b'],
      ['rmdir', 'c/x y/c/-rf'],
      ['rename', 'x y', 'c/c'],
      ['link', 'b', 'x y/-rf/a'],
    ],
  ],
  [
    'exchanges with links from outside, and of the directory above them',
    [
      ['trade', 'x y/-rf', 'x y/c'],
      ['rewrite', 'a'],
      ['trade', 'x y', 'x y/c'],
      ['exchange', 'x y', '-rf'],
    ],
  ],
  [
    'an exchange with a link from outside in a directory that is renamed',
    [
      ['unlink', 'a'],
      ['link', 'x y/-rf', 'é'],
      ['link', 'x y/-rf/c/a', 'c/a'],
      ['utimes', 'c'],
      ['rmdir', '-rf'],
      ['trade', '-rf/c', 'x y/-rf'],
      ['out', '-rf/-rf/c'],
      ['late', '644', 'a/a'],
      ['rewrite', 'c/a'],
      ['out', '-rf'],
      ['rename', '-rf/x y/-rf/a', 'b'],
      ['rename', 'x y', '-rf'],
      ['mark'],
      ['rmdir', 'x y/x y/x y'],
    ],
  ],
  [
    'two exchanges of directories, the second with what the first has brought',
    [
      ['mkdir', 'c/c/x y'],
      ['late', '2308', 'x y/x y/a'],
      ['save', 'x y/a'],
      ['in', 'c/-rf'],
      ['exchange', 'x y', 'c/c'],
      ['exchange', 'x y/x y', 'c/c'],
    ],
  ],
  [
    'a file comes into a directory that is exchanged with a link',
    [
      ['chain', 'c/x y/-rf'],
      ['append', 'x y/a/é'],
      ['link', 'é', 'é'],
      ['rename', 'é', 'x y/c/x y/b'],
      ['pause', '1332'],
      ['rename', '-rf/x y', '-rf'],
      ['rename', 'c/c', '-rf/c/-rf'],
      ['exchange', 'x y', 'a'],
    ],
  ],
  [
    // The poll of sync() begins with the pause.
    'a directory gets another while a poll goes on, and moves further down',
    [
      ['pause', '2162'],
      ['mkdir', 'c/x y/x y/a'],
      ['rename', 'c/x y', '-rf/x y/x y'],
    ],
    { source: 'poll', ignore: 'pattern' },
  ],
]

test.each(cases)('%s', { timeout: 30_000 + TIMES * 200 }, async (_, operations, settings) => {
  for (let i = 0; i < TIMES; i++) {
    const { wrong } = await play([[[]], [operations]], { writers: 1, ...settings })
    expect(wrong.join('\n'), `attempt ${i}`).toBe('')
  }
})
