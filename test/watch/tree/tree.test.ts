import { describe, expect, test } from 'vitest'
import { type Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { EntryCache } from '../../../src/watch/tree/entry_cache.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'
import { file } from './believed.ts'

/** /r with a/b/c in it, and every directory packed as soon as another is used. */
function small() {
  const tree = new Tree(new EntryCache(1))
  const mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)
  const root = tree.addRoot('/r', mount)
  const a = tree.add(root, 'a', 2, mount)
  const b = tree.add(a, 'b', 3, mount)
  const c = tree.add(b, 'c', 4, mount)
  return { tree, mount, root, a, b, c }
}

describe('trees', () => {
  test('the tops at a path or below it are those whose paths it begins, by whole names', () => {
    const tree = new Tree()
    const mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)
    const [root, a, ab, abc, other] = ['/', '/a', '/a/b', '/a/b/c', '/ab'].map((path) =>
      tree.addRoot(path, mount),
    )
    expect(tree.topsAtOrBelow('/')).toEqual([root, a, ab, abc, other])
    expect(tree.topsAtOrBelow('/a')).toEqual([a, ab, abc])
    expect(tree.topsAtOrBelow('/a/b/c/d')).toEqual([])
    tree.drop(ab as Directory)
    expect(tree.topsAtOrBelow('/a')).toEqual([a, abc])
  })

  test('one that was lost is not lost as a part of another, nor afterwards', () => {
    const { tree, root } = small()
    const lost = tree.addRoot('/s', root.mount)
    tree.setLost(lost, true)
    expect(tree.isPresent(lost)).toBe(false)
    tree.attach(lost, root, 's')
    expect(tree.isPresent(lost)).toBe(true)
    tree.cut(lost)
    expect(tree.isPresent(lost)).toBe(true)
  })

  test('one that is dropped has nothing that is to be looked at', () => {
    const { tree, root, c } = small()
    tree.drop(root)
    expect([tree.isAttached(root), tree.isAttached(c)]).toEqual([false, false])
  })

  test('a part of one becomes one of its own, of a mount of its own, and part of another again', () => {
    const { tree, mount, root, a, b, c } = small()
    const [own, error] = [new WatchedMount({ backend: 'inotify', why: '' }, 1), new Error('EACCES')]
    mount.uncover(c, error)
    tree.regroup(b, own)
    tree.cut(b)
    expect([tree.pathOf(c), tree.isAttached(c), tree.topOf(c)]).toEqual(['/r/a/b/c', true, b])
    expect([mount.directories, own.directories, c.mount]).toEqual([2, 2, own])
    expect([mount.uncovered.size, own.uncovered.get(c)]).toEqual([0, error])
    tree.drop(root)
    expect([tree.isAttached(a), tree.isAttached(c)]).toEqual([false, true])
    const other = tree.addRoot('/s', mount)
    tree.attach(b, other, 'n')
    expect([tree.pathOf(c), tree.topOf(c)]).toEqual(['/s/n/c', other])
    tree.detach(b)
    expect(tree.isAttached(c)).toBe(false)
  })
})

describe('paths', () => {
  test('follow renames of what is above', () => {
    const { tree, root, a, b, c } = small()
    expect(tree.pathOf(c, 'f')).toBe('/r/a/b/c/f')
    tree.detach(b)
    expect([tree.isAttached(c), tree.topOf(c), tree.pathOf(c)]).toEqual([false, b, '/b/c'])
    tree.attach(b, root, 'n')
    expect([tree.pathOf(c, 'f'), tree.pathOf(b), tree.pathOf(a)]).toEqual(['/r/n/c/f', '/r/n', '/r/a'])
    expect([tree.isAttached(c), tree.topOf(c)]).toEqual([true, root])
    tree.detach(a)
    tree.attach(a, c, 'a')
    expect(tree.pathOf(a, '')).toBe('/r/n/c/a/')
  })

  test('of a root, and of the root of all', () => {
    const { tree, mount, root } = small()
    expect([tree.pathOf(root), tree.pathOf(root, 'f')]).toEqual(['/r', '/r/f'])
    const all = tree.addRoot('/', mount)
    const etc = tree.add(all, 'etc', 5, mount)
    expect([tree.pathOf(all), tree.pathOf(all, 'f'), tree.pathOf(etc, 'f')]).toEqual(['/', '/f', '/etc/f'])
    expect(tree.pathOf(all, '')).toBe('/')
  })
})

describe('find', () => {
  test('by names, of directories alone', () => {
    const { tree, root, a, c } = small()
    tree.editableEntriesOf(a).set('f', file(9))
    expect(tree.find(root, [])).toBe(root)
    expect(tree.find(root, ['a', 'b', 'c'])).toBe(c)
    expect(tree.find(root, ['a', 'f'])).toBeUndefined()
    expect(tree.find(root, ['a', 'x', 'c'])).toBeUndefined()
    expect(tree.find(root, ['a', 'f', 'c'])).toBeUndefined()
  })
})

describe('watches', () => {
  test('one of several directories', () => {
    const { tree, a, b, c } = small()
    tree.setWatch(a, 1)
    expect([tree.onlyAt(1), tree.at(1), tree.at(2)]).toEqual([a, [a], []])
    tree.setWatch(b, 1)
    tree.setWatch(c, 1)
    tree.setWatch(c, 1)
    expect([tree.onlyAt(1), tree.at(1)]).toEqual([undefined, [a, b, c]])
    tree.clearWatch(a)
    expect([tree.at(1), [...tree.retired]]).toEqual([[b, c], []])
    tree.clearWatch(c)
    expect([tree.onlyAt(1), tree.at(1)]).toEqual([b, [b]])
    tree.clearWatch(b)
    expect([tree.at(1), [...tree.retired], b.wd]).toEqual([[], [1], 0])
    tree.clearWatch(b)
    expect([...tree.retired]).toEqual([1])
  })

  test('another in place of the one that it had', () => {
    const { tree, a } = small()
    tree.setWatch(a, 1)
    tree.setWatch(a, 2)
    expect([a.wd, tree.at(1), tree.at(2), [...tree.retired]]).toEqual([2, [], [a], [1]])
  })

  test('that the kernel has removed are not to be removed again', () => {
    const { tree, a } = small()
    tree.setWatch(a, 1)
    tree.loseWatch(a)
    expect([a.wd, tree.at(1), tree.retired.size]).toEqual([0, [], 0])
  })

  test('watchedBut', () => {
    const { tree, a, b, c } = small()
    tree.setWatch(a, 1)
    tree.setWatch(b, 2)
    tree.setWatch(c, 2)
    expect(tree.watchedBut(new Set([1]))).toEqual([b, c])
    expect(tree.watchedBut(new Set([2, 3]))).toEqual([a])
  })
})

test('closed are those alone that may not be read, whatever else is not covered, and wherever they go', () => {
  const { tree, mount, a, b, c } = small()
  const failed = (code: string) => Object.assign(new Error(code), { code })
  mount.uncover(b, failed('ENOSPC'))
  mount.uncover(c, failed('EACCES'))
  expect([...mount.closed]).toEqual([c])
  const other = new WatchedMount({ backend: 'inotify', why: '' })
  other.take(c)
  expect([[...mount.closed], [...other.closed]]).toEqual([[], [c]])
  other.uncover(c, failed('ENOSPC'))
  expect([other.closed.size, other.uncovered.size]).toEqual([0, 1])
  other.uncover(c, failed('EACCES'))
  other.cover(c)
  expect([other.closed.size, other.uncovered.size]).toEqual([0, 0])
  mount.uncover(b, failed('EACCES'))
  tree.drop(a)
  expect(mount.closed.size).toBe(0)
})

describe('drop', () => {
  test('retires every watch below, and forgets what a mount knew', () => {
    const { tree, mount, root, a, b, c } = small()
    const each: Directory[] = [root, a, b, c]
    for (const [i, directory] of each.entries()) tree.setWatch(directory, i + 1)
    mount.uncover(c, new Error('x'))
    mount.leftover.set(c, 0)
    expect(mount.directories).toBe(4)
    tree.drop(a)
    expect([...tree.retired].toSorted()).toEqual([2, 3, 4])
    expect([mount.directories, mount.uncovered.size, mount.leftover.size]).toEqual([1, 0, 0])
    expect(tree.entriesOf(root).size).toBe(0)
    expect([tree.at(2), tree.at(3), tree.at(4), tree.onlyAt(1)]).toEqual([[], [], [], root])
  })

  test('a watch that another directory has taken over, before or since, is not retired', () => {
    const { tree, mount, root, a, b, c } = small()
    const other = tree.add(root, 'other', 3, mount)
    tree.setWatch(b, 7)
    tree.setWatch(c, 8)
    tree.setWatch(other, 7)
    tree.drop(a)
    expect([...tree.retired]).toEqual([8])
    const more = tree.add(root, 'more', 4, mount)
    tree.setWatch(more, 8)
    expect([tree.retired.size, tree.onlyAt(7), tree.onlyAt(8)]).toEqual([0, other, more])
  })

  test('what another has the name of stays', () => {
    const { tree, mount, root, a } = small()
    tree.detach(a)
    const b = tree.add(root, 'a', 9, mount)
    tree.drop(a)
    expect(tree.find(root, ['a'])).toBe(b)
  })

  test('parents come before what is in them', () => {
    const { tree, mount, root, a, b, c } = small()
    const d = tree.add(a, 'd', 9, mount)
    const order = [...tree.within(root)]
    expect(new Set(order)).toEqual(new Set([root, a, b, c, d]))
    for (const each of order) {
      if (each.parent !== undefined) expect(order.indexOf(each.parent)).toBeLessThan(order.indexOf(each))
    }
  })
})
