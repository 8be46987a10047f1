import { expect, test } from 'vitest'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tops } from '../../../src/watch/tree/tops.ts'

const top = (path: string) => new Directory(path, 0, new WatchedMount('inotify', 'a test', 0))

test('the tops at a path or below it are those whose paths it begins, by whole names', () => {
  const tops = new Tops()
  const [a, ab, abc, other] = [top('/a'), top('/a/b'), top('/a/b/c'), top('/ab')]
  for (const each of [a, ab, abc, other]) tops.add(each)
  expect(tops.atOrBelow('/')).toEqual([a, ab, abc, other])
  expect(tops.atOrBelow('/a')).toEqual([a, ab, abc])
  expect(tops.atOrBelow('/a/b')).toEqual([ab, abc])
  expect(tops.atOrBelow('/a/b/c/d')).toEqual([])
  tops.delete(ab)
  expect(tops.atOrBelow('/a')).toEqual([a, abc])
  expect(tops.atOrBelow('/a/b')).toEqual([abc])
  expect([tops.size, tops.has(ab), tops.has(abc)]).toEqual([3, false, true])
})

test('the root of all is at and above all', () => {
  const tops = new Tops()
  const [root, below] = [top('/'), top('/a')]
  tops.add(root)
  tops.add(below)
  expect(tops.atOrBelow('/')).toEqual([root, below])
  expect(tops.atOrBelow('/a')).toEqual([below])
})

test('what is lost is not lost any more when it is another top', () => {
  const tops = new Tops()
  const lost = top('/a')
  tops.add(lost)
  tops.setLost(lost, true)
  expect(tops.isLost(lost)).toBe(true)
  tops.delete(lost)
  tops.add(lost)
  expect(tops.isLost(lost)).toBe(false)
})
