import { expect, test, vi } from 'vitest'
import { type PendingMove, PendingMoves } from '../../../src/watch/pending/pending_moves.ts'
import { type Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'

test('what was held back of a directory that a listing has found elsewhere is given, in its order; what is still on its way is not', () => {
  const tree = new Tree()
  const mount = new WatchedMount('inotify', '', 1)
  const root = tree.addRoot('/r', mount)
  const left = tree.add(root, 'left', 1, mount)
  const [found, still] = [tree.add(left, 'found', 2, mount), tree.add(left, 'still', 3, mount)]
  const moves = new PendingMoves(tree)
  const move: PendingMove = { cookie: 1, directory: root, name: 'left', entry: left, mask: 0, held: [] }
  moves.add(move)
  const hold = (directory: Directory, name: string) =>
    moves.hold(move, { directory, mask: 0, cookie: 0, name })
  const held = (events: typeof move.held | ReturnType<typeof moves.takeFound>) =>
    events.map(({ directory, name }) => `${directory.name} ${name}`)
  hold(found, 'a')
  hold(still, 'b')
  hold(found, 'c')
  expect(moves.takeFound()).toEqual([])
  tree.detach(found)
  tree.attach(found, root, 'arrived')
  expect(held(moves.takeFound())).toEqual(['arrived a', 'arrived c'])
  expect(held(move.held)).toEqual(['still b'])
  expect(moves.takeFound()).toEqual([])
  // Now the other one, with what has come of it since; and whoever gives the move up then gets nothing twice.
  hold(still, 'd')
  tree.detach(still)
  tree.attach(still, root, 'also')
  expect(held(moves.takeFound())).toEqual(['also b', 'also d'])
  expect(move.held).toEqual([])
})

test('where a directory is, is asked once whenever others come, however many of its events are held back', () => {
  const tree = new Tree()
  const mount = new WatchedMount('inotify', '', 1)
  const root = tree.addRoot('/r', mount)
  const left = tree.add(root, 'left', 1, mount)
  const moves = new PendingMoves(tree)
  const move: PendingMove = { cookie: 1, directory: root, name: 'left', entry: left, mask: 0, held: [] }
  moves.add(move)
  for (let i = 0; i < 1000; i++) moves.hold(move, { directory: left, mask: 0, cookie: 0, name: `${i}` })
  const asked = vi.spyOn(moves, 'above')
  for (let i = 0; i < 10; i++) {
    tree.add(root, `${i}`, 2 + i, mount)
    expect(moves.takeFound()).toEqual([])
    expect(moves.takeFound()).toEqual([])
  }
  expect(asked).toHaveBeenCalledTimes(10)
})
