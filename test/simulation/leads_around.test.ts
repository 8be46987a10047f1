import { expect, test } from 'vitest'
import { everLeadsAround } from './play/leads_around.ts'
import type { Operation } from './play/operation.ts'
import { ORDINARY } from './play/scenario.ts'

const symlink = (path: string, target: string): Operation => ({ type: 'symlink', path, target })
// The path of the inner root is this link from now on: to /out/o.
const behindLink: Operation = { type: 'exchange', path: '/t/b', other: '/t/k' }
// Three links on one way behind the link, which are four for the outer root.
const overTwo: Operation[] = [
  behindLink,
  { type: 'mkdir', path: '/out/p' },
  { type: 'mkdir', path: '/t/c' },
  symlink('/out/o/n', '/t/a'),
  symlink('/t/a/n', '/out/p'),
]

test.each<{ what: string; operations: Operation[]; isLeftOut: boolean }>([
  {
    what: 'a link to the outer root, in an inner one without a link',
    operations: [symlink('/t/b/n', '/t')],
    isLeftOut: false,
  },
  { what: 'an inner root behind a link', operations: [behindLink], isLeftOut: false },
  {
    what: 'an inner root that is a link to the outer one',
    operations: [behindLink, { type: 'swap', path: '/t/b', target: '/t' }],
    isLeftOut: true,
  },
  {
    what: 'a link to the outer root, in what the path of the inner one leads to',
    operations: [behindLink, symlink('/out/o/n', '/t')],
    isLeftOut: true,
  },
  {
    what: 'one to what that lies in',
    operations: [behindLink, symlink('/out/o/n', '/out')],
    isLeftOut: true,
  },
  {
    what: 'likewise where the directory that has the link comes there last',
    operations: [
      { type: 'swap', path: '/t/l', target: '/out' },
      { type: 'rename', path: '/t/l', other: '/t/b/g' },
      { type: 'rename', path: '/t/b', other: '/t/n' },
      { type: 'rename', path: '/t/k', other: '/t/b' },
      { type: 'exchange', path: '/t/n', other: '/out/o' },
    ],
    isLeftOut: true,
  },
  {
    what: 'likewise where that is in the outer root',
    operations: [
      { type: 'remove', path: '/t/b' },
      { type: 'mkdir', path: '/t/a/d' },
      symlink('/t/b', 'a/d'),
      symlink('/t/a/d/n', '/t/a'),
    ],
    isLeftOut: true,
  },
  {
    what: 'likewise by a second link',
    operations: [behindLink, symlink('/out/o/n', '/t/a'), symlink('/t/a/n', '/out')],
    isLeftOut: true,
  },
  { what: 'two links behind the inner root, which is one', operations: overTwo, isLeftOut: false },
  {
    what: 'a third, which is one too many for the outer root',
    operations: [...overTwo, symlink('/out/p/n', '/t/c')],
    isLeftOut: true,
  },
  {
    what: 'a link to what both lie in',
    operations: [behindLink, symlink('/out/o/n', '/')],
    isLeftOut: false,
  },
  {
    what: 'a link to the inner root itself',
    operations: [behindLink, symlink('/out/o/n', '/out/o')],
    isLeftOut: false,
  },
])('$what: left out: $isLeftOut', ({ operations, isLeftOut }) => {
  const settings = { ...ORDINARY, followSymlinks: true, nesting: 'outer removed' } as const
  expect(everLeadsAround({ settings, tree: 'links', operations, choices: [] })).toBe(isLeftOut)
})
